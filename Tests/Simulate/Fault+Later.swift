/// Faults that were added after seeds had been chosen for the mutants.
///
/// They have a separate generator, and the first seeds have none of them, so the runs of the first seeds stay the same.
extension Fault {
    /// The last seeds without these faults, with one server and with two.
    private static let (last, lastShared): (UInt64, UInt64) = (60, 140)

    /// Returns whether the run of a seed has these faults.
    static func hasLaterFaults(_ seed: UInt64) -> Bool {
        seed > (Plan.isShared(seed) ? self.lastShared : self.last)
    }

    /// The moment of a start at which the server is killed.
    enum StartMoment: Hashable, Sendable {
        case afterJobs(Int)
        /// At this write of SQLite since the start, while the store is opened or unfinished revocations are completed.
        case atWrite(Int)
    }

    /// Draws faults near the times of visits.
    static func drawLater(
        near times: [Int64],
        phones: Int,
        isShared: Bool,
        using generator: inout SeededGenerator
    ) -> [Fault] {
        (0..<Int.random(in: 0...3, using: &generator)).map { _ in
            let visit = generator.pick(times)
            let time = max(0, visit + Int64(Int.random(in: -2_000_000...8_000_000, using: &generator)))
            return Fault(
                time: time,
                kind: isShared ? self.sharedKind(phones, &generator) : self.kind(phones, &generator)
            )
        }
    }

    /// Draws a kind for runs with one server.
    private static func kind(_ phones: Int, _ generator: inout SeededGenerator) -> Kind {
        func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
        return switch number(0...11) {
        case 0...1: .killDuringStart(0, .afterJobs(number(0...60)), power: generator.chance(50))
        case 2...3: .killDuringStart(0, .atWrite(number(0...6)), power: generator.chance(50))
        case 4: .killDuringRestore(number(0...6))
        case 5...6: .recordsRefused(0, after: number(0...2), seconds: number(0...60))
        case 7: .recordNotSynced(0)
        case 8: .markFails
        case 9: .flipBitOfStore
        case 10: .solutionRevoked(seconds: number(1...1800))
        default: .recoveryCodeRevoked(phone: number(0...(phones - 1)))
        }
    }

    /// Draws a kind for runs with two servers.
    private static func sharedKind(_ phones: Int, _ generator: inout SeededGenerator) -> Kind {
        func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
        let (phone, server) = (number(0...(phones - 1)), number(0...1))
        return switch number(0...11) {
        case 0...1: .killDuringStart(server, .afterJobs(number(0...120)), power: false)
        case 2...3: .recordsRefused(server, after: number(0...2), seconds: number(0...20))
        case 4: .recordNotSynced(server)
        case 5: .phoneDiskFails(phone: phone, writes: number(1...3))
        case 6: .phoneClock(phone: phone, seconds: number(-86_400...86_400))
        case 7: .repeatedFrames(number(1...4))
        case 8: .exchangedFrames(number(1...3))
        case 9: .slowNetwork(seconds: number(5...30))
        case 10: .solutionRevoked(seconds: number(1...60))
        default: .recoveryCodeRevoked(phone: phone)
        }
    }

    /// The largest error of a server's clock rate, in parts per million.
    static let largestDrift: Int64 = 500
}
