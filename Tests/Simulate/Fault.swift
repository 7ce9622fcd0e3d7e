internal import PINPolicy

/// A fault at a moment of a run, or a rare command of the operator.
struct Fault: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        /// A server is killed this many of its jobs after the next request.
        ///
        /// With the power, the disk loses what it has not synced.
        case killServer(Int, afterJobs: Int, power: Bool)
        /// The server is killed at this write of the next commit.
        case killServerAtWrite(Int, power: Bool)
        /// A server is killed this many of its jobs after the next entry of its audit log is on disk.
        case killServerAfterRecord(Int, afterJobs: Int, power: Bool)
        /// A server is killed, and its next process is killed at this moment of its start.
        case killDuringStart(Int, StartMoment, power: Bool)
        /// The operator's next restore is killed at the beginning of this stage, and repeated.
        case killDuringRestore(Int)
        /// After this many entries, the disk of a server rejects writes to the audit log, except into reserved space;
        /// with 0 seconds, it rejects only one write.
        case recordsRefused(Int, after: Int, seconds: Int)
        /// The next sync of a server's audit log fails.
        case recordNotSynced(Int)
        /// The next write of the store's mark fails.
        case markFails
        /// The server is killed, and then forty bits of its database flip, which a start need not detect.
        case flipBitOfStore
        /// The operator revokes the solution, and restores it after this time.
        case solutionRevoked(seconds: Int)
        /// The operator denies the recovery code of a phone's owner.
        case recoveryCodeRevoked(phone: Int)
        /// The server is killed, and then a bit of its files flips.
        case flipBit(SimulatedServer.FileName)
        case diskFull(seconds: Int)
        /// The disk fails once, at a write or a sync.
        case diskFails(atWrite: Bool)
        case slowDisk(seconds: Int)
        case partedNetwork(seconds: Int)
        case slowNetwork(seconds: Int)
        case cutConnections
        /// The next verdicts leave the server and are lost with their connections.
        case lostVerdicts(Int)
        case repeatedFrames(Int)
        case exchangedFrames(Int)
        case killApp(phone: Int, afterJobs: Int)
        /// The next writes of a phone fail; some of them reach its disk nevertheless.
        case phoneDiskFails(phone: Int, writes: Int)
        case serverClock(seconds: Int)
        case phoneClock(phone: Int, seconds: Int)
        /// The module of the vault answers no request for this long.
        case moduleSilent(seconds: Int)
        /// Each call to the vault, and each answer of the store to a wallet, takes up to two seconds.
        case slowServer(seconds: Int)
        /// This many microseconds after the next request, the database's standby becomes the primary.
        case failover(after: Int64)
        /// This many microseconds after the next request, the database's primary restarts.
        case databaseRestart(after: Int64)
        /// This many microseconds after the next request, an older standby becomes the primary, which lacks at least
        /// this many confirmed commits.
        case lossyFailover(after: Int64, commits: Int)
        /// This many microseconds after the next request, the operator puts a copy of the database in the place of the
        /// original. A server that is not reachable at that time continues with the original until this many seconds
        /// after the opening of an epoch in the copy.
        case division(after: Int64, cutOff: Int, seconds: Int)
        /// At the end of the next division, the server that was cut off loses its power, and its mark is older.
        case powerFailsAfterDivision
        /// From the next request on, commits do not reach the standby; their wait may be cancelled.
        case standbyAway(seconds: Int, cancelsWaits: Bool)
        case slowDatabase(seconds: Int)
        case cutFromDatabase(server: Int, seconds: Int)
        /// The database's clock is wrong by this time, until it is right again after another one.
        case databaseClock(seconds: Int, lasts: Int)
        /// The operator makes a backup, restores the last one, or replaces the shares of all wallets.
        case backup
        case restore(EpochRule)
        case refreshShares
        /// This many microseconds after the next request, its wallet is revoked through the other server.
        case revocationElsewhere(Hindrance, seconds: Int, after: Int64, Plan.Revocation)
        /// A wallet is revoked through the other server, and a failover loses the revocation after this many
        /// microseconds. Then another wallet is revoked while answers to it wait in a server's machine.
        case lostRevocation(Revocation, failover: Int64, next: Revocation)
        /// A thief attacks the wallet of a phone (``Thief``).
        case theft(phone: Int, hasPhone: Bool)

        /// The name of the case.
        var name: String { String("\(self)".prefix { $0 != "(" }) }
    }

    /// A revocation through one server while the other one is hindered.
    struct Revocation: Hashable, Sendable {
        /// The time for which the other server is hindered.
        let seconds: Int
        /// Microseconds after the request.
        let after: Int64
        let way: Plan.Revocation
    }

    /// The reason why the server that got the request answers late, or cannot learn of a revocation.
    enum Hindrance: Hashable, Sendable {
        /// Its vault and its store take up to two seconds for each call.
        case slowServer
        /// Its process is frozen after this many jobs, or before it opens shares for its next answer if nil.
        case frozen(afterJobs: Int?)
        /// Its answers wait in its machine. Meanwhile, its database may be out of reach.
        case unreadAnswers(DatabaseOutage?)
    }

    /// The reason why a server does not reach its database.
    enum DatabaseOutage: Hashable, Sendable {
        case cut
        /// Besides, attempts to connect block for all this time, as libpq does while it resolves a name.
        case blockedConnect
    }

    /// Microseconds since the start.
    let time: Int64
    let kind: Kind

    var description: String { "\(Trace.text(self.time)) \(self.kind)" }

    /// The largest step of a server's clock in seconds, in either direction.
    static let largestStep = 40

    /// Draws a fault at about the time of a visit.
    static func draw(near time: Int64, phones: Int, using generator: inout SeededGenerator) -> Fault {
        let offset = Int64.random(in: -2_000_000...8_000_000, using: &generator)
        func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
        let phone = number(0...(phones - 1))
        let kind: Kind =
            switch number(0...22) {
            case 0...2: .killServer(0, afterJobs: number(0...25), power: generator.chance(50))
            case 3...5: .killServerAtWrite(number(0...8), power: generator.chance(50))
            case 6: .flipBit(generator.pick(SimulatedServer.FileName.detected))
            case 7: .diskFull(seconds: number(1...60))
            case 8: .diskFails(atWrite: generator.chance(50))
            case 9: .slowDisk(seconds: number(5...60))
            case 10: .partedNetwork(seconds: number(1...120))
            case 11: .slowNetwork(seconds: number(5...120))
            case 12: .cutConnections
            case 13: .lostVerdicts(number(1...3))
            case 14: .repeatedFrames(number(1...4))
            case 15: .exchangedFrames(number(1...3))
            case 16...17: .killApp(phone: phone, afterJobs: number(0...60))
            case 18: .phoneDiskFails(phone: phone, writes: number(1...3))
            case 19:
                generator.chance(50)
                    ? .serverClock(seconds: number(-self.largestStep...self.largestStep))
                    : .phoneClock(phone: phone, seconds: number(-86_400...86_400))
            case 20...21: .lostVerdicts(number(1...2))
            default: .moduleSilent(seconds: number(0...120))
            }
        return Fault(time: max(0, time + offset), kind: kind)
    }

    /// Draws the commands of the operator: a restore some time after its backup, and a replacement of shares.
    static func drawCommands(near times: [Int64], using generator: inout SeededGenerator) -> [Fault] {
        var commands: [Fault] = []
        if generator.chance(30) {
            let moments = [generator.pick(times), generator.pick(times)].sorted()
            let (before, after) = (Int64.random(in: 0...30_000_000, using: &generator), Int64(20_000_000))
            commands = [
                Fault(time: moments[0] + before, kind: .backup),
                Fault(
                    time: moments[1] + after + .random(in: 0...60_000_000, using: &generator),
                    kind: .restore(generator.chance(70) ? .strict : .chargeOne)
                ),
            ]
        }
        if generator.chance(20) {
            let time = generator.pick(times) + .random(in: -5_000_000...20_000_000, using: &generator)
            commands.append(Fault(time: max(0, time), kind: .refreshShares))
        }
        return commands
    }

    /// Draws a kill of a server that has put a revocation on record and may not have carried it out yet.
    static func drawKill(inRevocationOf visits: [Plan.Visit], using generator: inout SeededGenerator) -> [Fault] {
        let moments = visits.compactMap { visit in visit.revocation.map { visit.time + $0.after } }
        guard !moments.isEmpty, generator.chance(30) else { return [] }
        let (time, jobs) = (generator.pick(moments), Int.random(in: 0...6, using: &generator))
        return [Fault(time: time, kind: .killServerAfterRecord(0, afterJobs: jobs, power: generator.chance(50)))]
    }

    /// Draws an attack on a phone, more often while its shares are being replaced.
    static func drawTheft(
        near times: [Int64],
        or refresh: Int64?,
        phones: Int,
        using generator: inout SeededGenerator
    ) -> [Fault] {
        guard generator.chance(refresh == nil ? 40 : 70) else { return [] }
        let phone = Int.random(in: 0..<phones, using: &generator)
        let time = (refresh ?? generator.pick(times)) + .random(in: 0...120_000_000, using: &generator)
        // Only of Android: the assertions of two users of a phone would overtake each other.
        let hasPhone = phone.isMultiple(of: 2) && generator.chance(50)
        return [Fault(time: time, kind: .theft(phone: phone, hasPhone: hasPhone))]
    }

    /// Draws revocations through one server while the other one answers the wallet.
    ///
    /// A lease lasts six seconds, and its holder releases shares for only four of them.
    static func drawRevocations(near times: [Int64], using generator: inout SeededGenerator) -> [Fault] {
        (0..<Int.random(in: 0...4, using: &generator)).map { _ in
            func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
            let hindrance: Hindrance =
                switch number(0...5) {
                case 0...1: .slowServer
                case 2: .frozen(afterJobs: nil)
                case 3: .frozen(afterJobs: number(0...12))
                default: .unreadAnswers(generator.pick([nil, .cut, .blockedConnect]))
                }
            let after = Int64(generator.chance(50) ? number(0...100_000) : number(100_000...2_000_000))
            let seconds = number(generator.chance(50) ? 1...5 : 6...15)
            let way: Plan.Revocation = generator.chance(50) ? .portal : .operatorCommand
            return Fault(
                time: max(0, generator.pick(times) + Int64(number(-2_000_000...8_000_000))),
                kind: .revocationElsewhere(hindrance, seconds: seconds, after: after, way)
            )
        }
    }

    /// Draws two revocations with the same number: a failover loses the first one, whose outcome was unknown.
    static func drawLostRevocation(near times: [Int64], using generator: inout SeededGenerator) -> [Fault] {
        guard generator.chance(40) else { return [] }
        func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
        let time = generator.pick(times) + Int64(number(0...10_000_000))
        func revocation() -> Revocation {
            let way: Plan.Revocation = generator.chance(50) ? .portal : .operatorCommand
            return Revocation(seconds: number(4...10), after: Int64(number(300_000...1_000_000)), way: way)
        }
        let failover = Int64(number(100_000...3_000_000))
        return [Fault(time: time, kind: .lostRevocation(revocation(), failover: failover, next: revocation()))]
    }

    /// Draws a failover that loses confirmed commits, or a split brain.
    static func drawLoss(near times: [Int64], using generator: inout SeededGenerator) -> [Fault] {
        guard generator.chance(50) else { return [] }
        let time = generator.pick(times) + .random(in: 0...15_000_000, using: &generator)
        let delay = Int64.random(in: 0...1_000_000, using: &generator)
        if generator.chance(40) {
            let (server, seconds) = (
                Int.random(in: 0...1, using: &generator), Int.random(in: 1...40, using: &generator)
            )
            return [Fault(time: time, kind: .division(after: delay, cutOff: server, seconds: seconds))]
        }
        let commits = Int.random(in: 1...8, using: &generator)
        return [Fault(time: time, kind: .lossyFailover(after: delay, commits: commits))]
    }

    /// Draws the loss of the mark of a server that a division cuts off, so that only its audit log shows its commits.
    static func drawLostMark(after losses: [Fault], using generator: inout SeededGenerator) -> [Fault] {
        guard let loss = losses.first, case .division = loss.kind, generator.chance(50) else { return [] }
        return [Fault(time: loss.time, kind: .powerFailsAfterDivision)]
    }

    /// Draws a fault of a run with two servers at about the time of a visit.
    static func drawShared(near time: Int64, phones: Int, using generator: inout SeededGenerator) -> Fault {
        let offset = Int64.random(in: -2_000_000...8_000_000, using: &generator)
        func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
        let (phone, server) = (number(0...(phones - 1)), number(0...1))
        let delay = Int64(number(0...200_000))
        let kind: Kind =
            switch number(0...20) {
            case 0...1: .killServer(server, afterJobs: number(0...60), power: false)
            case 2...4: .failover(after: delay)
            case 5...6: .databaseRestart(after: delay)
            case 7...9: .standbyAway(seconds: number(1...12), cancelsWaits: generator.chance(70))
            case 10: .slowDatabase(seconds: number(1...20))
            case 11...13: .cutFromDatabase(server: server, seconds: number(1...30))
            case 14:
                .databaseClock(seconds: number(-self.largestStep...self.largestStep), lasts: number(1...40))
            case 15: .partedNetwork(seconds: number(1...60))
            case 16: .cutConnections
            case 17...18: .lostVerdicts(number(1...3))
            case 19: .killApp(phone: phone, afterJobs: number(0...60))
            default: .moduleSilent(seconds: number(0...120))
            }
        return Fault(time: max(0, time + offset), kind: kind)
    }
}
