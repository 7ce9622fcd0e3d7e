/// A fault at a moment of a run.
struct Fault: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        /// The server is killed this many of its jobs after the next request.
        ///
        /// With the power, the disk loses what it has not synced.
        case killServer(afterJobs: Int, power: Bool)
        /// The server is killed at this write of the next commit.
        case killServerAtWrite(Int, power: Bool)
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
        case vaultFails(seconds: Int)
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
            case 0...2: .killServer(afterJobs: number(0...25), power: generator.chance(50))
            case 3...5: .killServerAtWrite(number(0...8), power: generator.chance(50))
            case 6: .flipBit(generator.pick(SimulatedServer.FileName.allCases))
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
            default: .vaultFails(seconds: number(1...30))
            }
        return Fault(time: max(0, time + offset), kind: kind)
    }
}
