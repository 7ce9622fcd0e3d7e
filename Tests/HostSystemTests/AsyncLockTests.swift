import HostSystem
import Synchronization
import TestSupport
import Testing

@Suite("Locks held across suspensions")
struct AsyncLockTests {
    private let locks = KeyedAsyncLock<Int>()

    @Test("each key has one holder at a time, keys do not wait for each other, and every task acquires its lock")
    func mutualExclusion() async {
        let most = await Self.contend { [locks = self.locks] key, body in
            await locks.acquire(key)
            await body()
            locks.release(key)
        }
        #expect(most == [0: 1, 1: 1, 2: 1])
        await self.locks.acquire(0)
        await self.locks.acquire(1)
        self.locks.release(0)
        self.locks.release(1)
    }

    @Test("a body runs alone for its key and concurrently with those of other keys")
    func bodies() async {
        let most = await Self.contend { [locks = self.locks] key, body in await locks.withLock(key, body) }
        #expect(most == [0: 1, 1: 1, 2: 1])
        let isFree = await self.locks.withLock(7) { [locks = self.locks] in await locks.withLock(8) { true } }
        #expect(isFree)
    }

    @Test("waiting tasks acquire a key's lock in the order of their arrival")
    func orderOfKey() async throws {
        let (order, events) = AsyncStream<Int>.makeStream()
        await self.locks.acquire(0)
        for number in 0..<20 {
            Task { [locks = self.locks] in await locks.withLock(0) { events.yield(number) } }
            try await poll { self.locks.waitingCount(0) != number }
        }
        self.locks.release(0)
        #expect(await order.prefix(20).reduce(into: []) { $0.append($1) } == Array(0..<20))
    }

    @Test("waiting tasks acquire a single lock in the order of their arrival, and it is free afterwards")
    func order() async throws {
        let lock = AsyncLock()
        let (order, events) = AsyncStream.makeStream(of: Int.self)
        await lock.acquire()
        try await withThrowingDiscardingTaskGroup { group in
            for number in 0..<50 {
                let waiting = lock.waitingCount
                group.addTask {
                    await lock.acquire()
                    events.yield(number)
                    lock.release()
                }
                // Each task is queued before the next one starts.
                try await poll { lock.waitingCount != waiting }
            }
            lock.release()
        }
        events.finish()
        #expect(await order.reduce(into: []) { $0.append($1) } == Array(0..<50))
        await lock.acquire()
        lock.release()
    }

    /// Runs 300 tasks at once, 100 for each of three keys; returns the most that held each key at a
    /// time.
    private static func contend(
        _ run: @escaping @Sendable (_ key: Int, _ body: @Sendable () async -> Void) async -> Void
    ) async -> [Int: Int] {
        let holders = HolderCount()
        await withTaskGroup { group in
            for index in 0..<300 {
                let key = index % 3
                group.addTask {
                    await run(key) {
                        holders.enter(key)
                        await Task.yield()
                        holders.leave(key)
                    }
                }
            }
        }
        return holders.most
    }
}

/// The number of concurrent holders of each key.
private final class HolderCount: Sendable {
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
