import Foundation
import Glibc
import MetricsEndpoint
import OperatorChannels
import Telemetry
import Synchronization
import TestSupport
import Testing
import Vocabulary

@Suite("Event hooks")
struct EventHooksTests {
    private let folder = TemporaryFolder()
    private let clock = ManualClock()
    private let log = LogCapture()
    private let metrics = MetricRegistry()

    /// The value of the counter for this hook and outcome.
    private func counted(_ hook: String, _ outcome: String) -> Int? {
        let series = "remote_pin_hook_events_total{hook=\"\(hook)\",outcome=\"\(outcome)\"} "
        let lines = Exposition.text(of: self.metrics).split(separator: "\n")
        return lines.first { $0.hasPrefix(series) }.flatMap { Int($0.dropFirst(series.count)) }
    }

    /// Limits short enough for tests.
    private static var quick: EventHooks.Limits {
        var limits = EventHooks.Limits()
        limits.writeTimeout = .milliseconds(100)
        limits.initialBackoff = .milliseconds(1)
        limits.maximumBackoff = .milliseconds(2)
        limits.shutdownGrace = .milliseconds(100)
        return limits
    }

    private static func wallet(_ number: UInt8) -> WalletID {
        guard let id = WalletID([UInt8](repeating: number, count: 16)) else { preconditionFailure("16 bytes") }
        return id
    }

    // Created for each test: the leak checker cannot see objects held only by a static array of this enumeration.
    private static var every: [WalletIncident] {
        [
            .blocked(Self.wallet(1), until: Timestamp(milliseconds: 1_795_000_060_000)),
            .blockedPermanently(Self.wallet(2)),
            .revoked(Self.wallet(3), Revocation(reason: .recoveryCode, mayRegisterAnew: false)),
            .solutionRevoked, .solutionRestored,
        ]
    }

    /// Runs the hooks during `body`.
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

    private func shell(_ script: String, _ arguments: String...) -> OperatorChannel {
        .program("/bin/sh", arguments: ["-c", script] + arguments)
    }

    @Test("a program and a socket receive every event in order, as lines that match the schema")
    func every() async throws {
        let pipe = try PipeListener(in: self.folder)
        let socket = try await SocketListener(at: self.folder.file("socket"), .listens)
        let receivers: [any EventReceiver] = [
            self.shell("exec cat >\"$0\"", pipe.path), OperatorChannel.socket(self.folder.file("socket")),
        ]
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let schema = try JSONSchema(contentsOf: root.appendingPathComponent("docs/hook-event.schema.json").path)
        try await self.run(receivers) { hooks in
            for event in Self.every { hooks.report(event) }
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

    @Test("a missing receiver is logged, does not affect others, and receives the queued lines once it exists")
    func absent() async throws {
        let path = self.folder.file("late")
        let missing = OperatorChannel.program(self.folder.file("none"), arguments: ["secret"])
        try await self.run([missing, OperatorChannel.socket(path)]) { hooks in
            for event in Self.every { hooks.report(event) }
            #expect(await self.log.receives("accepts no events", self.folder.file("none"), "could not be opened"))
            let late = try await SocketListener(at: path, .listens)
            #expect(await late.next(5).count == 5)
        }
    }

    @Test("a receiver that ends after each line is reopened for the next one")
    func leaving() async throws {
        let pipe = try PipeListener(in: self.folder)
        let socket = try await SocketListener(at: self.folder.file("socket"), .leaves)
        let receivers: [any EventReceiver] = [
            self.shell("read line; echo \"$$\" >\"$0\"", pipe.path), OperatorChannel.socket(self.folder.file("socket")),
        ]
        try await self.run(receivers) { hooks in
            await withTaskGroup { group in
                // A line written to an ending receiver is lost, so events are sent until enough lines arrived.
                group.addTask {
                    while !Task.isCancelled {
                        hooks.report(.solutionRevoked)
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

    @Test("a program that ends leaves no process behind, not even one in another session", arguments: ["", "setsid "])
    func leftBehind(prefix: String) async throws {
        let pipe = try PipeListener(in: self.folder)
        let script = "read line; \(prefix)tail -f /dev/null & echo $! >\"$0\""
        try await self.run([self.shell(script, pipe.path)]) { hooks in
            await withTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        hooks.report(.solutionRevoked)
                        await Task.yield()
                    }
                }
                for process in await pipe.next(2).compactMap({ Int32($0) }) {
                    #expect(await eventually { !isRunning(process) })
                }
                group.cancelAll()
            }
        }
    }

    @Test("a program that ends while idle loses no later event", .timeLimit(.minutes(5)))
    func endedInSilence() async throws {
        let pipe = try PipeListener(in: self.folder)
        try await self.run([self.shell("read line; echo \"$$\" >\"$0\"", pipe.path)]) { hooks in
            for event in Self.every {
                hooks.report(event)
                let program = try #require(Int32(await pipe.next(1).first ?? "none"))
                // A line sent to a program that is ending would be lost.
                #expect(await eventually { !isRunning(program) })
            }
        }
    }

    @Test("a receiver that writes output still receives every line")
    func garbage() async throws {
        let pipe = try PipeListener(in: self.folder)
        let socket = try await SocketListener(at: self.folder.file("socket"), .talks)
        let noisy = self.shell("head -c 300000 /dev/zero; exec cat >\"$0\"", pipe.path)
        try await self.run([noisy, OperatorChannel.socket(self.folder.file("socket"))]) { hooks in
            for event in Self.every { hooks.report(event) }
            #expect(await pipe.next(5).count == 5)
            #expect(await socket.next(5).count == 5)
        }
    }

    @Test(
        "a hung receiver is closed, excess lines are dropped and counted, and callers never wait",
        arguments: [true, false]
    )
    func hanging(isProgram: Bool) async throws {
        var limits = Self.quick
        limits.capacity = 4000
        let path = self.folder.file("socket")
        let listener = isProgram ? nil : try await SocketListener(at: path, .ignores)
        let receiver: any EventReceiver =
            isProgram ? self.shell("exec tail -f /dev/null") : OperatorChannel.socket(path)
        try await self.run([receiver], limits) { hooks in
            // More than the queue and any socket or pipe buffer can hold.
            for _ in 0..<20_000 { hooks.report(.blockedPermanently(Self.wallet(9))) }
            #expect(await self.log.receives("error events are dropped", receiver.name))
            #expect(await self.log.receives("accepted no line for"))
        }
        withExtendedLifetime(listener) {}
    }

    @Test("a receiver that returns after a drop is sent the number of dropped lines")
    func dropped() async throws {
        var limits = Self.quick
        limits.capacity = 3
        let path = self.folder.file("socket")
        try await self.run([OperatorChannel.socket(path)], limits) { hooks in
            for event in Self.every { hooks.report(event) }
            let listener = try await SocketListener(at: path, .listens)
            let lines = try await listener.next(4).map { try JSONValue($0) }
            #expect(lines[0]["event"]?.string == "dropped" && lines[0]["count"] == .integer(2))
            #expect(lines.dropFirst().compactMap { $0["number"] } == (1...3).map { JSONValue.integer($0) })
            #expect(await eventually { self.counted("socket", "delivered") == 3 })
        }
        #expect(self.counted("socket", "dropped") == 2)
    }

    @Test("a drop report that was not delivered is repeated when the receiver returns")
    func droppedTwice() async throws {
        var limits = Self.quick
        limits.capacity = 3
        let receiver = FlakyReceiver(rejecting: 2)
        try await self.run([receiver], limits) { hooks in
            for event in Self.every { hooks.report(event) }
            #expect(await eventually { receiver.lines.count == 4 })
        }
        let lines = try receiver.lines.map { try JSONValue($0) }
        #expect(lines.first?["event"]?.string == "dropped" && lines.first?["count"] == .integer(2))
    }

    @Test("concurrent events are delivered in the order of their numbers")
    func numbers() async throws {
        let receiver = FlakyReceiver(rejecting: 0)
        try await self.run([receiver]) { hooks in
            await withDiscardingTaskGroup { tasks in
                for _ in 0..<4 {
                    tasks.addTask { for _ in 0..<500 { hooks.report(.solutionRevoked) } }
                }
            }
            #expect(await eventually { receiver.lines.count == 2000 })
        }
        let numbers = try receiver.lines.map { try JSONValue($0)["number"] }
        #expect(numbers == (1...2000).map { .integer($0) })
    }

    @Test("lines still queued when the server stops are counted as dropped")
    func undelivered() async throws {
        try await self.run([OperatorChannel.socket(self.folder.file("nobody"))]) { hooks in
            for event in Self.every { hooks.report(event) }
            #expect(await self.log.receives("accepts no events"))
        }
        #expect(self.counted("socket", "delivered") == 0 && self.counted("socket", "dropped") == 5)
        #expect(self.metrics.refusedSeries == 0)
    }

    @Test(
        "a program gets neither the server's environment nor a terminal, and its children are killed with it",
        arguments: ["", "setsid "]
    )
    func surroundings(prefix: String) async throws {
        let pipe = try PipeListener(in: self.folder)
        // Those of the shell, of the isolation, and the mark by which the program's processes are found.
        let known: Set = ["PATH", "HOME", "LANG", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "PIN_PROGRAM_START"]
        let others = Set(ProcessInfo.processInfo.environment.keys).subtracting(known)
        try #require(!others.isEmpty, "the test needs a variable that a program must not get")
        let start = "\(prefix)tail -f /dev/null & echo $! >\"$0\""
        let script = "\(start); env >\"$0\"; echo end >\"$0\"; exec tail -f /dev/null"
        try await self.run([self.shell(script, pipe.path)]) { _ in
            let child = try #require(Int32(await pipe.next(1)[0]))
            var lines: [String] = []
            while lines.last != "end" { lines += await pipe.next(1) }
            let names = lines.dropLast().compactMap { $0.split(separator: "=").first.map(String.init) }
            #expect(Set(names).isSubset(of: known), "\(names)")
            self.child.store(child)
        }
        let child = self.child.value
        #expect(await eventually { !isRunning(child) })
    }

    @Test("replaced receivers get the lines queued before, the new ones all later lines, and numbers continue")
    func replaced() async throws {
        let (first, second) = (FlakyReceiver(rejecting: 0), FlakyReceiver(rejecting: 0))
        var limits = Self.quick
        limits.shutdownGrace = .seconds(600)
        try await self.run([], limits) { hooks in
            hooks.report(.solutionRevoked)
            hooks.replace(with: [first], capacity: 4096)
            // Concurrent with the replacement, so that an event is neither lost nor reported twice.
            await withDiscardingTaskGroup { tasks in
                tasks.addTask { for _ in 0..<2000 { hooks.report(.solutionRevoked) } }
                tasks.addTask { hooks.replace(with: [second], capacity: 4096) }
            }
            #expect(await eventually { first.lines.count + second.lines.count == 2000 })
        }
        let numbers = try (first.lines + second.lines).map { try JSONValue($0)["number"] }
        #expect(numbers == (1...2000).map { .integer($0) }, "an event before the first receiver has no number")
    }

    @Test("a replaced program that hangs is killed with its children, its lines are counted, and its successor starts")
    func replacedWhileRunning() async throws {
        let pipe = try PipeListener(in: self.folder)
        let hung = self.shell("tail -f /dev/null & echo $! >\"$0\"; echo $$ >\"$0\"; wait", pipe.path)
        let missing = OperatorChannel.socket(self.folder.file("nobody"))
        try await self.run([hung, missing]) { hooks in
            let processes = await pipe.next(2).compactMap { Int32($0) }
            #expect(processes.count == 2)
            for event in Self.every { hooks.report(event) }
            hooks.replace(with: [self.shell("exec cat >\"$0\"", pipe.path)], capacity: 4096)
            hooks.report(.solutionRestored)
            let line = try JSONValue(await pipe.next(1)[0])
            #expect(line["event"]?.string == "solution-restored" && line["number"] == .integer(6))
            for process in processes { #expect(await eventually { !isRunning(process) }) }
        }
        #expect(self.counted("socket", "dropped") == 5)
    }

    private let child = SharedProcessID()
}

/// A process id shared between two parts of a test.
private final class SharedProcessID: Sendable {
    private let kept = Atomic<Int32>(0)
    var value: Int32 { self.kept.load(ordering: .relaxed) }
    func store(_ value: Int32) { self.kept.store(value, ordering: .relaxed) }
}
