import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import RemotePINServer

@Suite("Turns")
struct TurnsTests {
    @Test("one at a time for a key, others beside it, and nobody waits for ever")
    func turns() async throws {
        let turns = Turns<RecoveryCodeMAC>()
        let codes = try (0..<3).map { try RecoveryCodeMAC([UInt8](repeating: UInt8($0), count: 32)).orThrow() }
        let crowd = Crowd()
        await withTaskGroup { group in
            for index in 0..<300 {
                let code = codes[index % codes.count]
                group.addTask {
                    await turns.begin(code)
                    crowd.enter(code)
                    await Task.yield()
                    crowd.leave(code)
                    turns.end(code)
                }
            }
        }
        #expect(crowd.most == 1)
        await turns.begin(codes[0])
        await turns.begin(codes[1])
        turns.end(codes[0])
        turns.end(codes[1])
    }
}

/// How many are inside at a time.
private final class Crowd: Sendable {
    private let state = Mutex<(inside: [RecoveryCodeMAC: Int], most: Int)>(([:], 0))

    var most: Int { self.state.withLock(\.most) }

    func enter(_ code: RecoveryCodeMAC) {
        self.state.withLock { state in
            state.inside[code, default: 0] += 1
            state.most = max(state.most, state.inside[code, default: 0])
        }
    }

    func leave(_ code: RecoveryCodeMAC) { self.state.withLock { $0.inside[code, default: 0] -= 1 } }
}
