internal import Vocabulary

/// The content of a run, drawn from its seed: the policy, the visits of the phones' owners, and the faults.
struct Plan: Sendable {
    /// The ways to revoke a wallet.
    enum Revocation: CaseIterable, Sendable {
        /// The deletion code, sent by another program.
        case code
        /// The deletion code, typed on the portal.
        case portal
        case operatorCommand
    }

    /// A use of the app.
    struct Visit: Sendable {
        /// Microseconds since the start.
        var time: Int64
        /// The wrong PINs before the right one.
        var wrongPINs = 0
        /// The owner leaves the app if the wallet is blocked permanently, instead of deleting the wallet.
        var keepsBlockedWallet = false
        var changesPIN = false
        /// Whether the owner links the recovery code, if the wallet is not linked yet.
        var linksRecoveryCode = false
        /// Whether the owner wipes the app at the end.
        var wipes = false
        /// The wallet is revoked, this many microseconds after the beginning.
        var revocation: (way: Revocation, after: Int64)?
        /// The app stays open, and its connection with it.
        var staysOpen = false
    }

    static let day: Int64 = 86_400_000_000

    let seed: UInt64
    let policy: AttemptPolicy
    let days: Int
    /// Two servers share a PostgreSQL database; otherwise, there is one with SQLite.
    let isShared: Bool
    /// The visits to each phone, in order.
    private(set) var visits: [[Visit]]
    var faults: [Fault]
    /// The error of each server's clock rate, in parts per million.
    private(set) var clockDrifts: [Int64] = [0, 0]

    init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed, "plan")
        self.seed = seed
        self.days = .random(in: 1...2, using: &generator)
        let blocks: [Duration] = [.seconds(60), .seconds(300)]
        guard
            let policy = AttemptPolicy(
                rounds: .random(in: 2...4, using: &generator),
                attemptsPerRound: .random(in: 2...3, using: &generator),
                blocks: Array(blocks.prefix(.random(in: 0...1, using: &generator)))
            )
        else { preconditionFailure("the numbers of the policy are allowed") }
        self.policy = policy
        self.isShared = Self.isShared(seed)
        let (phones, days) = (Int.random(in: 1...5, using: &generator), self.days)
        let visits = (0..<phones).map { _ in Self.visits(in: days, using: &generator) }
        self.visits = self.isShared ? Self.withoutIdleTime(visits) : visits
        let times = self.visits.joined().map(\.time)
        let isShared = self.isShared
        self.faults = (0..<Int.random(in: 0...10, using: &generator)).map { _ in
            let time = generator.pick(times)
            return isShared
                ? Fault.drawShared(near: time, phones: phones, using: &generator)
                : Fault.draw(near: time, phones: phones, using: &generator)
        }
        if isShared { self.addFaultsOfTwoServers(near: times) } else { self.addCommands(near: times) }
        var thefts = SeededGenerator(seed: seed, "thief")
        let refresh = self.faults.first { $0.kind == .refreshShares }?.time
        self.faults += Fault.drawTheft(near: times, or: refresh, phones: phones, using: &thefts)
        if Fault.hasLaterFaults(seed) { self.addLaterFaults(near: times) }
    }

    /// Adds the faults that the first seeds do not have, and lets owners link their recovery code or wipe the app.
    private mutating func addLaterFaults(near times: [Int64]) {
        var generator = SeededGenerator(seed: self.seed, "later faults")
        let phones = self.visits.count
        self.faults += Fault.drawLater(near: times, phones: phones, isShared: self.isShared, using: &generator)
        let denied = self.faults.compactMap { fault in
            if case .recoveryCodeRevoked(let phone) = fault.kind { phone } else { nil }
        }
        for phone in self.visits.indices {
            let links = denied.contains(phone) ? 60 : 10
            for visit in self.visits[phone].indices {
                self.visits[phone][visit].linksRecoveryCode = generator.chance(links)
                self.visits[phone][visit].wipes = generator.chance(4)
            }
        }
        self.clockDrifts = (0..<2).map { _ in .random(in: -Fault.largestDrift...Fault.largestDrift, using: &generator) }
        if self.isShared { self.addGuessesOverLoss() } else { self.addHindrancesOfCommands() }
    }

    /// Lets an owner enter wrong PINs before and after a loss of commits, which must not give guesses back.
    private mutating func addGuessesOverLoss() {
        var generator = SeededGenerator(seed: self.seed, "guesses over a loss")
        let loss = self.faults.first { if case .lossyFailover = $0.kind { true } else { false } }
        guard let loss, generator.chance(60) else { return }
        // The last visit that begins before the loss.
        var last: (phone: Int, visit: Int, time: Int64)?
        for (phone, visits) in self.visits.enumerated() {
            guard let visit = visits.lastIndex(where: { $0.time <= loss.time }) else { continue }
            if last.map({ $0.time < visits[visit].time }) ?? true { last = (phone, visit, visits[visit].time) }
        }
        guard let last else { return }
        self.visits[last.phone][last.visit].wrongPINs = 2 * self.policy.allowance
        self.visits[last.phone][last.visit].keepsBlockedWallet = true
    }

    /// Adds a slow server during revocations, and a second restore of the backup.
    private mutating func addHindrancesOfCommands() {
        var vaults = SeededGenerator(seed: self.seed, "slow vault in revocations")
        for visit in self.visits.joined() where visit.revocation != nil && vaults.chance(50) {
            self.faults.append(Fault(time: visit.time, kind: .slowServer(seconds: 10)))
        }
        var restores = SeededGenerator(seed: self.seed, "second restores")
        let first = self.faults.first { if case .restore = $0.kind { true } else { false } }
        guard let first, restores.chance(40) else { return }
        let later = Int64.random(in: 120_000_000...21_600_000_000, using: &restores)
        self.faults.append(Fault(time: first.time + later, kind: first.kind))
    }

    private mutating func addFaultsOfTwoServers(near times: [Int64]) {
        var leases = SeededGenerator(seed: self.seed, "leases")
        self.faults += Fault.drawRevocations(near: times, using: &leases)
        var losses = SeededGenerator(seed: self.seed, "losses")
        let loss = Fault.drawLoss(near: times, using: &losses)
        self.faults += loss
        var revocations = SeededGenerator(seed: self.seed, "lost revocations")
        self.faults += Fault.drawLostRevocation(near: times, using: &revocations)
        var marks = SeededGenerator(seed: self.seed, "lost marks")
        self.faults += Fault.drawLostMark(after: loss, using: &marks)
    }

    /// Adds the commands of the operator of one server, and a kill in a revocation.
    private mutating func addCommands(near times: [Int64]) {
        var generator = SeededGenerator(seed: self.seed, "operator")
        self.faults += Fault.drawCommands(near: times, using: &generator)
        var endings = SeededGenerator(seed: self.seed, "blocked wallets that stay")
        if generator.chance(50) {
            self.blockBetweenBackupAndRestore()
        } else if endings.chance(50) {
            self.blockBeforeRestore()
        }
        var kills = SeededGenerator(seed: self.seed, "kills in revocations")
        self.faults += Fault.drawKill(inRevocationOf: Array(self.visits.joined()), using: &kills)
    }

    /// Lets an owner enter wrong PINs until the wallet is blocked permanently, which a restore must not undo.
    private mutating func blockBetweenBackupAndRestore() {
        guard let backup = self.faults.first(where: { $0.kind == .backup })?.time else { return }
        for phone in self.visits.indices {
            guard let visit = self.visits[phone].firstIndex(where: { $0.time > backup }) else { continue }
            self.visits[phone][visit].wrongPINs = self.policy.allowance
            return
        }
    }

    /// Lets an owner block the wallet permanently at the last visit, and leave it so; then the backup is restored.
    ///
    /// If the owner deleted the wallet, its revocation would be on record, and a restore would repeat that.
    private mutating func blockBeforeRestore() {
        guard let backup = self.faults.first(where: { $0.kind == .backup })?.time,
            let restore = self.faults.firstIndex(where: { if case .restore = $0.kind { true } else { false } }),
            let phone = self.visits.firstIndex(where: { ($0.last?.time ?? 0) > backup })
        else { return }
        let last = self.visits[phone].count - 1
        self.visits[phone][last].wrongPINs = self.policy.allowance
        self.visits[phone][last].keepsBlockedWallet = true
        // The blocks between the rounds take up to half of this time.
        self.faults[restore] = Fault(
            time: self.visits[phone][last].time + 2_400_000_000,
            kind: self.faults[restore].kind
        )
    }

    /// Returns whether the run of a seed has two servers.
    static func isShared(_ seed: UInt64) -> Bool { seed.isMultiple(of: 5) }

    /// Moves visits together, because two servers renew their leases each second.
    private static func withoutIdleTime(_ visits: [[Visit]]) -> [[Visit]] {
        var moved: [Int64: Int64] = [:]
        var (before, end): (Int64, Int64) = (0, 0)
        for time in Set(visits.joined().map(\.time)).sorted() {
            end += min(time - before, Self.longestPause)
            before = time
            moved[time] = end
        }
        return visits.map { visits in
            visits.map { visit in
                var visit = visit
                visit.time = moved[visit.time] ?? visit.time
                return visit
            }
        }
    }

    private static let longestPause: Int64 = 20_000_000

    private static func visits(in days: Int, using generator: inout SeededGenerator) -> [Visit] {
        let count = days * Int.random(in: 2...6, using: &generator)
        return (0..<count).map { _ in
            // Half of the visits fall into the same hours, so that phones meet.
            let hour = generator.chance(50) ? Int64(8) : .random(in: 0...23, using: &generator)
            let within = Int64.random(in: 0..<(generator.chance(30) ? 60_000_000 : 3_600_000_000), using: &generator)
            var visit = Visit(
                time: .random(in: 0..<Int64(days), using: &generator) * Self.day + hour * 3_600_000_000 + within
            )
            if generator.chance(30) { visit.wrongPINs = .random(in: 1...4, using: &generator) }
            visit.changesPIN = generator.chance(20)
            if generator.chance(6) {
                visit.revocation = (generator.pick(Revocation.allCases), .random(in: 0...8_000_000, using: &generator))
            }
            visit.staysOpen = generator.chance(30)
            return visit
        }.sorted { $0.time < $1.time }
    }

    /// The time after which all faults end, and the time between the phones' last visits.
    var end: Int64 {
        guard self.isShared else { return Int64(self.days) * Self.day }
        return (self.visits.joined().map(\.time).max() ?? 0) + 60_000_000
    }

    var endSpacing: Int64 { self.isShared ? 10_000_000 : 3_600_000_000 }

    /// The days of all wallets together, without runs of two servers, which take minutes.
    var walletDays: Int { self.isShared ? 0 : self.days * self.visits.count }
}
