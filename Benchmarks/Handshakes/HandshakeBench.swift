import Foundation
import LoadEngine
import Synchronization
import Transport

/// Measures TLS handshakes at a constant rate, with `pin-load`'s client and without calls.
///
/// Prints the p50 and the p99 in microseconds, and the number of handshakes. Each time is measured from the moment at
/// which the handshake is due, as in `pin-load run --rate`.
@main
struct HandshakeBench {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst().map(\.self)
        guard words.count == 6, let rate = Double(words[3]), let seconds = Double(words[4]), let lanes = Int(words[5])
        else {
            FileHandle.standardError.write(
                Data("usage: handshake-bench HOST:PORT CA-FILE SERVER-NAME RATE SECONDS CONNECTIONS\n".utf8)
            )
            exit(64)
        }
        EventLoops.use(threads: nil)
        let target = try Target(address: words[0], caFile: words[1], serverName: words[2])
        let times = try await Handshakes(of: target, rate: rate, count: Int(rate * seconds)).measure(lanes: lanes)
        let latencies = Latencies(microseconds: times)
        print(latencies.percentile(50) ?? 0, latencies.percentile(99) ?? 0, latencies.count)
    }
}

/// Handshakes that are due one after another at a constant rate.
private final class Handshakes: Sendable {
    private let target: Target
    private let tls: TLSClientContext
    private let rate: Double
    private let count: Int
    private let next = Atomic(0)

    init(of target: Target, rate: Double, count: Int) throws {
        self.target = target
        self.tls = try target.tls(resuming: false)
        self.rate = rate
        self.count = count
    }

    /// Returns the times of all handshakes in microseconds.
    ///
    /// A free lane takes the next handshake.
    func measure(lanes: Int) async throws -> [UInt64] {
        let start = ContinuousClock.now + .milliseconds(100)
        return try await withThrowingTaskGroup { group in
            for lane in 0..<lanes {
                group.addTask(executorPreference: EventLoops.executor(lane)) { try await self.lane(from: start) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func lane(from start: ContinuousClock.Instant) async throws -> [UInt64] {
        var times: [UInt64] = []
        while true {
            let number = self.next.add(1, ordering: .relaxed).oldValue
            guard number < self.count else { return times }
            let due = start + .seconds(Double(number) / self.rate)
            let wait = due - .now
            if wait > .zero { await EventLoops.pause(for: wait) }
            let connection = try await self.target.connect(tls: self.tls, timeout: .seconds(30))
            times.append(UInt64((ContinuousClock.now - due) / .microseconds(1)))
            connection.close()
        }
    }
}
