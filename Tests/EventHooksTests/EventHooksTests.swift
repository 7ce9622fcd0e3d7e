import EventHooks
import Foundation
import Glibc
import Telemetry
import Synchronization
import TestSupport
import Testing
import Vocabulary

@Suite("Hooks")
struct EventHooksTests {
    private let folder = TemporaryFolder()
    private let clock = ManualClock()
    private let log = LogEar()
    private let metrics = MetricRegistry()

    /// How many lines were counted so.
    private func counted(_ hook: String, _ outcome: String) -> Int? {
        let series = "remote_pin_hook_events_total{hook=\"\(hook)\",outcome=\"\(outcome)\"} "
        let lines = Exposition.text(of: self.metrics).split(separator: "\n")
        return lines.first { $0.hasPrefix(series) }.flatMap { Int($0.dropFirst(series.count)) }
    }

    /// Limits that a test does not wait for.
    private static var quick: EventHooks.Limits {
        var limits = EventHooks.Limits()
        limits.patience = .milliseconds(100)
        limits.firstPause = .milliseconds(1)
        limits.longestPause = .milliseconds(2)
        limits.farewell = .milliseconds(100)
        return limits
    }

    private static func wallet(_ number: UInt8) -> WalletID {
        guard let id = WalletID([UInt8](repeating: number, count: 16)) else { preconditionFailure("16 bytes") }
        return id
    }

    // Made anew for each test: what only a static array of this enumeration holds is lost to the search for leaks.
    private static var every: [WalletIncident] {
        [
            .blocked(Self.wallet(1), until: Timestamp(milliseconds: 1_795_000_060_000)),
            .blockedPermanently(Self.wallet(2)),
            .revoked(Self.wallet(3), Revocation(reason: .recoveryCode, mayRegisterAnew: false)),
            .solutionRevoked, .solutionRestored,
        ]
    }

    /// Runs hooks for as long as `body` takes.
    private func run(
        _ receivers: [any EventReceiver],
        _ limits: EventHooks.Limits = Self.quick,
        _ body: (EventHooks) async throws -> Void
    ) async throws {
        let hooks = EventHooks(
            receivers,
            limits: limits,
            clock: self.clock,
            log: self.log.logger,
            metrics: self.metrics
        )
        try await withThrowingTaskGroup { group in
            group.addTask { await hooks.run() }
            try await body(hooks)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private func shell(_ script: String, _ arguments: String...) -> ProgramReceiver {
        ProgramReceiver(path: "/bin/sh", arguments: ["-c", script] + arguments)
    }

    @Test("a program and a socket get every event, in order, each line as the schema says")
    func every() async throws {
        let pipe = try PipeEar(in: self.folder)
        let socket = try await SocketEar(at: self.folder.file("socket"), .listens)
        let receivers: [any EventReceiver] = [
            self.shell("exec cat >\"$0\"", pipe.path), SocketReceiver(path: self.folder.file("socket")),
        ]
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let schema = try JSONSchema(contentsOf: root.appendingPathComponent("docs/hook-event.schema.json").path)
        try await self.run(receivers) { hooks in
            for event in Self.every { hooks.tell(event) }
            let lines = await pipe.next(Self.every.count)
            #expect(await socket.next(Self.every.count) == lines)
            for line in lines { #expect(schema.findings(in: line).isEmpty, "\(line)") }
            let values = try lines.map { try JSONValue($0) }
            #expect(values.compactMap { $0["number"] } == (1...5).map { JSONValue.integer($0) })
            #expect(values[0]["event"]?.string == "blocked" && values[0]["until"]?.string?.hasSuffix("Z") == true)
            #expect(values[2]["reason"]?.string == "recovery-code")
            #expect(values[2]["may_register_anew"] == .boolean(false))
            #expect(values[2]["wallet"]?.string == "\(Self.wallet(3))")
            #expect(await eventually { self.counted("program", "delivered") == 5 })
            #expect(await eventually { self.counted("socket", "delivered") == 5 })
        }
        #expect(self.counted("program", "dropped") == 0 && self.counted("socket", "dropped") == 0)
    }

    @Test("a receiver that is not there costs nothing, is named in the log, and gets what waits once it is")
    func absent() async throws {
        let path = self.folder.file("late")
        let missing = ProgramReceiver(path: self.folder.file("none"), arguments: ["secret"])
        try await self.run([missing, SocketReceiver(path: path)]) { hooks in
            for event in Self.every { hooks.tell(event) }
            #expect(await self.log.hears("takes no events", self.folder.file("none"), "not reached"))
            let late = try await SocketEar(at: path, .listens)
            #expect(await late.next(5).count == 5)
        }
    }

    @Test("a receiver that ends after each line is opened again for the next ones")
    func leaving() async throws {
        let pipe = try PipeEar(in: self.folder)
        let socket = try await SocketEar(at: self.folder.file("socket"), .leaves)
        let receivers: [any EventReceiver] = [
            self.shell("read line; echo \"$$\" >\"$0\"", pipe.path), SocketReceiver(path: self.folder.file("socket")),
        ]
        try await self.run(receivers) { hooks in
            await withTaskGroup { group in
                // A line that was written to one which ends is lost with it, so they are told until they have heard enough.
                group.addTask {
                    while !Task.isCancelled {
                        hooks.tell(.solutionRevoked)
                        await Task.yield()
                    }
                }
                var programs: Set<String> = []
                while programs.count < 3 { programs.formUnion(await pipe.next(1)) }
                #expect(await socket.next(3).count == 3)
                group.cancelAll()
            }
        }
    }

    @Test("a program that ended while nothing happened loses no event that comes afterwards", .timeLimit(.minutes(1)))
    func endedInSilence() async throws {
        let pipe = try PipeEar(in: self.folder)
        try await self.run([self.shell("read line; echo \"$$\" >\"$0\"", pipe.path)]) { hooks in
            for event in Self.every {
                hooks.tell(event)
                let program = try #require(Int32(await pipe.next(1).first ?? "none"))
                // What it was sent while it was ending is lost with it.
                #expect(await eventually { !isRunning(program) })
            }
        }
    }

    @Test("one that talks back instead of listening still gets every line")
    func garbage() async throws {
        let pipe = try PipeEar(in: self.folder)
        let socket = try await SocketEar(at: self.folder.file("socket"), .talks)
        let noisy = self.shell("head -c 300000 /dev/zero; exec cat >\"$0\"", pipe.path)
        try await self.run([noisy, SocketReceiver(path: self.folder.file("socket"))]) { hooks in
            for event in Self.every { hooks.tell(event) }
            #expect(await pipe.next(5).count == 5)
            #expect(await socket.next(5).count == 5)
        }
    }

    @Test(
        "one that hangs is cut off; what has no room is dropped and counted, and nobody waits",
        arguments: [true, false]
    )
    func hanging(isProgram: Bool) async throws {
        var limits = Self.quick
        limits.capacity = 4000
        let path = self.folder.file("socket")
        let ear = isProgram ? nil : try await SocketEar(at: path, .ignores)
        let receiver: any EventReceiver =
            isProgram ? self.shell("exec tail -f /dev/null") : SocketReceiver(path: path)
        try await self.run([receiver], limits) { hooks in
            // More than fits into the queue and any socket's or pipe's buffer.
            for _ in 0..<20_000 { hooks.tell(.blockedPermanently(Self.wallet(9))) }
            #expect(await self.log.hears("error events are dropped", receiver.name))
            #expect(await self.log.hears("took no line for"))
        }
        withExtendedLifetime(ear) {}
    }

    @Test("who comes back after a drop is told how many lines it did not get")
    func dropped() async throws {
        var limits = Self.quick
        limits.capacity = 3
        let path = self.folder.file("socket")
        try await self.run([SocketReceiver(path: path)], limits) { hooks in
            for event in Self.every { hooks.tell(event) }
            let ear = try await SocketEar(at: path, .listens)
            let lines = try await ear.next(4).map { try JSONValue($0) }
            #expect(lines[0]["event"]?.string == "dropped" && lines[0]["count"] == .integer(2))
            #expect(lines.dropFirst().compactMap { $0["number"] } == (1...3).map { JSONValue.integer($0) })
            #expect(await eventually { self.counted("socket", "delivered") == 3 })
        }
        #expect(self.counted("socket", "dropped") == 2)
    }

    @Test("one that goes while it is told how many lines it did not get is told so when it comes back")
    func droppedTwice() async throws {
        var limits = Self.quick
        limits.capacity = 3
        let receiver = FickleReceiver(refusing: 2)
        try await self.run([receiver], limits) { hooks in
            for event in Self.every { hooks.tell(event) }
            #expect(await eventually { receiver.lines.count == 4 })
        }
        let lines = try receiver.lines.map { try JSONValue($0) }
        #expect(lines.first?["event"]?.string == "dropped" && lines.first?["count"] == .integer(2))
    }

    @Test("however many tell of something at once, the numbers come in order")
    func numbers() async throws {
        let receiver = FickleReceiver(refusing: 0)
        try await self.run([receiver]) { hooks in
            await withDiscardingTaskGroup { tasks in
                for _ in 0..<4 {
                    tasks.addTask { for _ in 0..<500 { hooks.tell(.solutionRevoked) } }
                }
            }
            #expect(await eventually { receiver.lines.count == 2000 })
        }
        let numbers = try receiver.lines.map { try JSONValue($0)["number"] }
        #expect(numbers == (1...2000).map { .integer($0) })
    }

    @Test("what still waits when the server stops is counted as dropped: each line is in the end one or the other")
    func undelivered() async throws {
        try await self.run([SocketReceiver(path: self.folder.file("nobody"))]) { hooks in
            for event in Self.every { hooks.tell(event) }
            #expect(await self.log.hears("takes no events"))
        }
        #expect(self.counted("socket", "delivered") == 0 && self.counted("socket", "dropped") == 5)
        #expect(self.metrics.refusedSeries == 0)
    }

    @Test("a program is given neither the server's environment nor a terminal, and what it started ends with it")
    func surroundings() async throws {
        let pipe = try PipeEar(in: self.folder)
        unsafe setenv("REMOTE_PIN_TEST_SECRET", "do not pass on", 1)
        let script = "tail -f /dev/null & echo $! >\"$0\"; env >\"$0\"; echo end >\"$0\"; exec tail -f /dev/null"
        try await self.run([self.shell(script, pipe.path)]) { _ in
            let child = try #require(Int32(await pipe.next(1)[0]))
            var lines: [String] = []
            while lines.last != "end" { lines += await pipe.next(1) }
            #expect(!lines.contains { $0.contains("REMOTE_PIN") || $0.contains("NOTIFY_SOCKET") })
            self.child.store(child)
        }
        let child = self.child.value
        #expect(await eventually { !isRunning(child) })
    }

    private let child = Kept()
}

/// A process id between two parts of a test.
private final class Kept: Sendable {
    private let kept = Atomic<Int32>(0)
    var value: Int32 { self.kept.load(ordering: .relaxed) }
    func store(_ value: Int32) { self.kept.store(value, ordering: .relaxed) }
}
