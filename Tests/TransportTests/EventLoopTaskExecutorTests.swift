import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import Transport

@Suite("Tasks on an event loop")
struct EventLoopTaskExecutorTests {
    private let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("every job runs on its event loop, also if it is enqueued while others run, from any thread")
    func jobs() async {
        let executor = EventLoopTaskExecutor.of(self.eventLoop)
        let (eventLoop, tasks, turns) = (self.eventLoop, 200, 50)
        let seen = Seen()
        await withTaskGroup { group in
            for _ in 0..<tasks {
                group.addTask(executorPreference: executor) {
                    for _ in 0..<turns {
                        #expect(eventLoop.inEventLoop)
                        seen.add(0)
                        await Task.yield()
                    }
                }
            }
        }
        #expect(seen.numbers.count == tasks * turns)
    }

    @Test("jobs run in the order of arrival")
    func order() async {
        let executor = EventLoopTaskExecutor.of(self.eventLoop)
        let seen = Seen()
        // From a job, so that all of them are queued before the first one runs.
        await withTaskExecutorPreference(executor) {
            await withTaskGroup { group in
                for number in 0..<100 { group.addTask { seen.add(number) } }
            }
        }
        #expect(seen.numbers == Array(0..<100))
    }

    @Test("a pause lasts its duration and ends on cancellation")
    func pause() async {
        await withTaskExecutorPreference(EventLoopTaskExecutor.of(self.eventLoop)) {
            let time = await ContinuousClock().measure { await EventLoops.pause(for: .milliseconds(30)) }
            #expect(time >= .milliseconds(30))
            let pausing = Task { await EventLoops.pause(for: .seconds(3600)) }
            pausing.cancel()
            #expect(await happens { await pausing.value })
        }
    }

    @Test("all tasks of an event loop share one executor, so that their jobs run together")
    func shared() {
        #expect(EventLoopTaskExecutor.of(self.eventLoop) === EventLoopTaskExecutor.of(self.eventLoop))
    }
}

/// The numbers that jobs recorded, in order.
private final class Seen: Sendable {
    private let noted = Mutex<[Int]>([])

    var numbers: [Int] { self.noted.withLock { $0 } }

    func add(_ number: Int) {
        self.noted.withLock { $0.append(number) }
    }
}
