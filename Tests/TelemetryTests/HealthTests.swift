import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import MetricsEndpoint
@testable import Telemetry

/// A probe time limit that a live part meets even on a very busy machine.
private let patience: Duration = .seconds(300)
/// A short probe time limit for parts that never answer.
private let impatience: Duration = .milliseconds(50)

@Suite("Liveness and readiness")
struct HealthTests {
    @Test("a server becomes ready after its start and never again after it began to stop")
    func readiness() {
        let readiness = Readiness()
        #expect(readiness.state == .starting && !readiness.isReady)
        readiness.begin()
        #expect(readiness.isReady)
        readiness.note("a lock")
        #expect(readiness.pause() && readiness.state == .waiting && readiness.reason == "a lock")
        #expect(!readiness.pause())
        readiness.resume()
        #expect(readiness.isReady)
        readiness.drop()
        readiness.begin()
        #expect(readiness.state == .stopping)
        let stopped = Readiness()
        stopped.drop()
        stopped.begin()
        #expect(!stopped.isReady, "stopped before it was ready")
    }

    @Test("a ready server is not ready while a local socket is missing, and a stopping one stays so")
    func sockets() {
        let readiness = Readiness()
        let isInPlace = Atomic<Bool>(false)
        readiness.require { isInPlace.load(ordering: .relaxed) ? nil : .unreachable }
        #expect(readiness.state == .starting)
        readiness.begin()
        #expect(readiness.state == .unreachable && !readiness.isReady)
        isInPlace.store(true, ordering: .relaxed)
        #expect(readiness.isReady)
        readiness.drop()
        isInPlace.store(false, ordering: .relaxed)
        #expect(readiness.state == .stopping)
    }

    @Test("only failed and silent parts are reported")
    func failures() async {
        let liveness = Liveness(patience: patience, freshness: .zero)
        liveness.watch("live") { true }
        liveness.watch("dead") { false }
        #expect(await liveness.failures() == ["dead"])
        liveness.forget("dead")
        #expect(await liveness.failures().isEmpty)
        let (isOver, over) = AsyncStream.makeStream(of: Void.self)
        let impatient = Liveness(patience: impatience, freshness: .zero)
        impatient.watch("dead") { false }
        impatient.watch("silent") {
            for await _ in isOver { break }
            return true
        }
        #expect(await impatient.failures() == ["dead", "silent"])
        impatient.forget("dead")
        // A part with an unanswered probe is not probed again.
        #expect(await impatient.failures() == ["silent"])
        over.finish()
    }

    @Test("concurrent checks share one probe")
    func once() async {
        let asked = Atomic<Int>(0)
        let liveness = Liveness(freshness: .seconds(3600))
        liveness.watch("store") {
            asked.add(1, ordering: .relaxed)
            return true
        }
        await withDiscardingTaskGroup { group in
            for _ in 0..<50 { group.addTask { #expect(await liveness.failures().isEmpty) } }
        }
        #expect(asked.load(ordering: .relaxed) == 1)
    }

    @Test("a stuck thread is reported even if the other threads answer")
    func stuckLoop() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let liveness = Liveness(patience: patience, freshness: .zero)
        liveness.watch("event loops", group)
        #expect(await liveness.failures().isEmpty)
        let impatient = Liveness(patience: impatience, freshness: .zero)
        impatient.watch("event loops", group)
        let (isHeld, held) = AsyncStream.makeStream(of: Void.self)
        let key = DispatchSemaphore(value: 0)
        group.next().execute {
            held.yield()
            key.wait()
        }
        for await _ in isHeld { break }
        #expect(await impatient.failures() == ["event loops"])
        key.signal()
        try await group.shutdownGracefully()
    }
}

@Suite("Watchdog notifications")
struct WatchdogTests {
    /// The notifications of a watch, in order.
    private enum Word: Equatable, Sendable {
        case alive
        case stuck([String])
    }

    @Test("a failed part stops the notifications and is reported once, and recovery resumes them")
    func stuck() async throws {
        let isBack = Atomic<Bool>(false)
        let (words, says) = AsyncStream<Word>.makeStream()
        let (looks, looked) = AsyncStream<Void>.makeStream()
        let liveness = Liveness(patience: patience, freshness: .zero)
        liveness.watch("quick") {
            looked.yield()
            return true
        }
        liveness.watch("dead") { isBack.load(ordering: .relaxed) }
        await withTaskGroup { group in
            group.addTask {
                await liveness.watch(every: .milliseconds(5)) {
                    says.yield(.alive)
                } stuck: {
                    says.yield(.stuck($0))
                }
            }
            var heard = words.makeAsyncIterator()
            #expect(await heard.next() == .stuck(["dead"]))
            // The part is checked repeatedly but not reported again.
            var look = looks.makeAsyncIterator()
            for _ in 0..<5 { _ = await look.next() }
            isBack.store(true, ordering: .relaxed)
            #expect(await heard.next() == .alive)
            #expect(await heard.next() == .alive)
            group.cancelAll()
        }
    }

    @Test("a cancelled watch returns without a notification, even while a part is silent")
    func cancelled() async throws {
        let liveness = Liveness(patience: impatience, freshness: .zero)
        let (isOver, over) = AsyncStream<Void>.makeStream()
        liveness.watch("silent") {
            for await _ in isOver { break }
            return true
        }
        let (words, says) = AsyncStream<[String]>.makeStream()
        let watch = Task {
            await liveness.watch(every: .seconds(3600)) {
                Issue.record("a silent part was reported as alive")
            } stuck: {
                says.yield($0)
            }
        }
        for await silent in words {
            #expect(silent == ["silent"])
            break
        }
        watch.cancel()
        #expect(await happens { await watch.value })
        over.finish()
    }
}
