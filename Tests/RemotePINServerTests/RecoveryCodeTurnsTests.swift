import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import RemotePINServer

@Suite("Turns for each recovery code")
struct RecoveryCodeTurnsTests {
    @Test("one at a time for a code, others beside it, and nobody waits for ever")
    func turns() async throws {
        let turns = RecoveryCodeTurns()
        let codes = try (0..<3).map { try RecoveryCodeMAC([UInt8](repeating: UInt8($0), count: 32)).orThrow() }
        let inside = Mutex<[RecoveryCodeMAC: Int]>([:])
        let most = Mutex(0)
        await withTaskGroup { group in
            for index in 0..<300 {
                let code = codes[index % codes.count]
                group.addTask {
                    await turns.begin(code)
                    let count = inside.withLock { inside in
                        inside[code, default: 0] += 1
                        return inside[code, default: 0]
                    }
                    most.withLock { $0 = max($0, count) }
                    await Task.yield()
                    inside.withLock { $0[code, default: 0] -= 1 }
                    turns.end(code)
                }
            }
        }
        #expect(most.withLock { $0 } == 1)
        await turns.begin(codes[0])
        await turns.begin(codes[1])
        turns.end(codes[0])
        turns.end(codes[1])
    }
}
