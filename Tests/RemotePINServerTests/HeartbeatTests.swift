import RemotePINServer
import Synchronization
import TestSupport
import Testing

@Suite("Whether a server is alive")
struct HeartbeatTests {
    /// What a watch says, in order.
    private enum Word: Equatable, Sendable {
        case alive
        case stuck([String])
    }

    @Test("while a part does not answer nothing is called alive, the part is named once, and it goes on afterwards")
    func stuck() async throws {
        let gate = Gate()
        let (words, says) = AsyncStream<Word>.makeStream()
        let heartbeat = Heartbeat([
            Heartbeat.Part("quick") {},
            Heartbeat.Part("slow") { await gate.pass() },
        ])
        try await withThrowingTaskGroup { group in
            group.addTask {
                await heartbeat.watch(every: .milliseconds(5)) {
                    says.yield(.alive)
                } stuck: {
                    says.yield(.stuck($0))
                }
            }
            var heard = words.makeAsyncIterator()
            // At the start, when nothing has been asked yet; open the gate only when the silence was noticed.
            #expect(await heard.next() == .alive)
            #expect(await heard.next() == .stuck(["slow"]))
            gate.open()
            #expect(await heard.next() == .alive)
            #expect(await heard.next() == .alive)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test("a server's threads and its store answer")
    func server() async throws {
        try await InProcessServer.run { server in
            let (words, says) = AsyncStream<Word>.makeStream()
            let heartbeat = server.server.heartbeat { await Task.yield() }
            await withTaskGroup { group in
                group.addTask {
                    await heartbeat.watch(every: .milliseconds(5)) {
                        says.yield(.alive)
                    } stuck: { _ in
                        // A busy machine may be late; what counts is that it is alive again.
                    }
                }
                var heard = words.makeAsyncIterator()
                for _ in 0..<3 { #expect(await heard.next() == .alive) }
                group.cancelAll()
            }
        }
    }

    /// Closed until somebody opens it.
    private final class Gate: Sendable {
        private let (opened, opens) = AsyncStream<Void>.makeStream()
        private let isOpen = Mutex(false)

        func open() {
            self.isOpen.withLock { $0 = true }
            self.opens.finish()
        }

        func pass() async {
            if self.isOpen.withLock({ $0 }) { return }
            for await _ in self.opened {}
        }
    }
}
