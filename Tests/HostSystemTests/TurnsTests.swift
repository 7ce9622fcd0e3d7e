import HostSystem
import Synchronization
import TestSupport
import Testing

@Suite("Turns")
struct TurnsTests {
    @Test("one at a time for a key, in the order in which they come, and nobody waits for ever")
    func turns() async {
        let turns = Turns<Int>()
        let crowd = Crowd()
        await withTaskGroup { group in
            for index in 0..<300 {
                let key = index % 3
                group.addTask {
                    await turns.begin(key)
                    crowd.enter(key)
                    await Task.yield()
                    crowd.leave(key)
                    turns.end(key)
                }
            }
        }
        #expect(crowd.most == [0: 1, 1: 1, 2: 1])
        await turns.begin(0)
        await turns.begin(1)
        turns.end(0)
        turns.end(1)
    }

    @Test("a body runs alone for its key, and beside those of others")
    func alone() async {
        let turns = Turns<Int>()
        let crowd = Crowd()
        await withTaskGroup { group in
            for number in 0..<50 {
                group.addTask {
                    await turns.alone(number % 2) {
                        crowd.enter(number % 2)
                        await Task.yield()
                        crowd.leave(number % 2)
                    }
                }
            }
        }
        #expect(crowd.most == [0: 1, 1: 1])
        let free = await turns.alone(7) { await turns.alone(8) { true } }
        #expect(free)
    }
}

/// How many are inside at a time, for each key.
private final class Crowd: Sendable {
    private let state = Mutex<(inside: [Int: Int], most: [Int: Int])>(([:], [:]))

    var most: [Int: Int] { self.state.withLock(\.most) }

    func enter(_ key: Int) {
        self.state.withLock { state in
            state.inside[key, default: 0] += 1
            state.most[key] = max(state.most[key, default: 0], state.inside[key, default: 0])
        }
    }

    func leave(_ key: Int) { self.state.withLock { $0.inside[key, default: 0] -= 1 } }
}
