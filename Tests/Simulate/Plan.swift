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
        var changesPIN = false
        /// The wallet is revoked, this many microseconds after the beginning.
        var revocation: (way: Revocation, after: Int64)?
        /// The app stays open, and its connection with it.
        var staysOpen = false
    }

    static let day: Int64 = 86_400_000_000

    let seed: UInt64
    let policy: AttemptPolicy
    let days: Int
    /// The visits to each phone, in order.
    let visits: [[Visit]]
    var faults: [Fault]

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
        let (phones, days) = (Int.random(in: 1...5, using: &generator), self.days)
        self.visits = (0..<phones).map { _ in Self.visits(in: days, using: &generator) }
        let times = self.visits.joined().map(\.time)
        self.faults = (0..<Int.random(in: 0...10, using: &generator)).map { _ in
            Fault.draw(near: generator.pick(times), phones: phones, using: &generator)
        }
    }

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

    /// The days of all wallets together.
    var walletDays: Int { self.days * self.visits.count }
}
