import HostSystem
import Synchronization
import TestSupport
import Testing

@Suite("Turns")
struct TurnsTests {
    private let turns = Turns<Int>()

    @Test("one at a time for a key, others beside it, and nobody waits for ever")
    func turns() async {
        let most = await Self.crowd { [turns = self.turns] key, body in
            await turns.begin(key)
            await body()
            turns.end(key)
        }
        #expect(most == [0: 1, 1: 1, 2: 1])
        await self.turns.begin(0)
        await self.turns.begin(1)
        self.turns.end(0)
        self.turns.end(1)
    }

    @Test("a body runs alone for its key, and beside those of others")
    func alone() async {
        let most = await Self.crowd { [turns = self.turns] key, body in await turns.alone(key, body) }
        #expect(most == [0: 1, 1: 1, 2: 1])
        let free = await self.turns.alone(7) { [turns = self.turns] in await turns.alone(8) { true } }
        #expect(free)
    }

    @Test("those who wait have their turns in the order in which they came")
    func order() async {
        let (order, events) = AsyncStream<Int>.makeStream()
        await self.turns.begin(0)
        for number in 0..<20 {
            Task { [turns = self.turns] in await turns.alone(0) { events.yield(number) } }
            while self.turns.waitingCount(0) == number { await Task.yield() }
        }
        self.turns.end(0)
        #expect(await order.prefix(20).reduce(into: []) { $0.append($1) } == Array(0..<20))
    }

    /// Has three hundred run at once, a hundred for each of three keys; how many were inside at a time, for each key.
    private static func crowd(
        _ run: @escaping @Sendable (_ key: Int, _ body: @Sendable () async -> Void) async -> Void
    ) async -> [Int: Int] {
        let crowd = Crowd()
        await withTaskGroup { group in
            for index in 0..<300 {
                let key = index % 3
                group.addTask {
                    await run(key) {
                        crowd.enter(key)
                        await Task.yield()
                        crowd.leave(key)
                    }
                }
            }
        }
        return crowd.most
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
