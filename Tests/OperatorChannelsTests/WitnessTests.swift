import ChildPrograms
import Foundation
import Logging
import MetricsEndpoint
import NIOCore
import NIOPosix
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import OperatorChannels

@Suite("The witness of a store")
struct WitnessTests {
    private let folder = TemporaryFolder()
    private static let shipped = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("deploy/witness").path

    /// A program with this body.
    private func program(_ name: String, _ body: String) throws -> String {
        let path = self.folder.file(name)
        try Data("#!/bin/sh\n\(body)\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    private func witness(_ body: String, limit: Duration = .seconds(30)) throws -> Witness {
        Witness(.program(try self.program("witness", body), arguments: []), limit: limit)
    }

    /// A store's numbers, and a keeper of a witness for them.
    private final class Store: Sendable {
        let generation = Mutex<UInt64>(7)
        let step = Mutex<UInt64>(3)
        /// The number of times that the keeper has read the generation.
        let reads = Mutex(0)

        func keeper(
            _ witness: Witness,
            isRequired: Bool = true,
            interval: Duration = .seconds(1)
        ) -> WitnessKeeper {
            WitnessKeeper(
                witness: witness,
                isRequired: isRequired,
                interval: interval,
                generation: {
                    self.reads.withLock { $0 += 1 }
                    return self.generation.withLock { $0 }
                },
                step: { self.step.withLock { $0 } },
                raiseStep: {
                    // A commit like any other.
                    self.generation.withLock { $0 += 1 }
                    return self.step.withLock { step in
                        step += 1
                        return step
                    }
                },
                log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                meters: WitnessMeters(MetricRegistry())
            )
        }
    }

    @Test("the shipped witness keeps the highest numbers, and a store behind it does not start")
    func file() async throws {
        let channel = OperatorChannel.program("\(Self.shipped)/file-witness", arguments: [self.folder.file("record")])
        let witness = Witness(channel, limit: .seconds(30))
        #expect(
            try await witness.note(WitnessNumbers(generation: 5, step: 2)) == WitnessRecord(generation: 5, step: 2)
        )
        #expect(
            try await witness.note(WitnessNumbers(generation: 4, step: 3)) == WitnessRecord(generation: 5, step: 3)
        )
        let store = Store()
        try await store.keeper(witness).start()
        #expect(store.step.withLock { $0 } == 4)
        // The same store again, from before that start: its step is one behind.
        store.step.withLock { $0 = 3 }
        await #expect(throws: WitnessFailure.self) { try await store.keeper(witness).start() }
        #expect(store.step.withLock { $0 } == 3)
        // An older generation with a step that was raised by hand.
        store.step.withLock { $0 = 9 }
        store.generation.withLock { $0 = 6 }
        await #expect(throws: WitnessFailure.self) { try await store.keeper(witness, isRequired: false).start() }
        store.generation.withLock { $0 = 8 }
        try await store.keeper(witness).start()
    }

    @Test(
        "a program that ends or hangs leaves no process behind, and its messages are passed on",
        arguments: [true, false]
    )
    func leftBehind(ends: Bool) async throws {
        let file = self.folder.file("process")
        let messages = Mutex<[String]>([])
        let body = "echo told >&2; tail -f /dev/null & echo $! >\(file); \(ends ? "exit 0" : "wait")"
        let witness = Witness(
            .program(try self.program("witness", body), arguments: []),
            limit: ends ? .seconds(30) : .milliseconds(500),
            messages: ProgramMessages { line, _ in messages.withLock { $0.append(line) } }
        )
        await #expect(throws: WitnessSilence.self) { try await witness.note(WitnessNumbers(generation: 1, step: 1)) }
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let process = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(await eventually { !isRunning(process) })
        #expect(messages.withLock { $0 } == ["told"])
    }

    @Test("a witness is informed of a change, and not again while only its own step changes the store")
    func idle() async throws {
        let channel = OperatorChannel.program("\(Self.shipped)/file-witness", arguments: [self.folder.file("idle")])
        let store = Store()
        let keeper = store.keeper(Witness(channel, limit: .seconds(30)), interval: .milliseconds(10))
        let serving = Task { await keeper.run() }
        try await poll {
            store.generation.withLock { $0 += 1 }
            return store.step.withLock { $0 } != 3
        }
        // The keeper compares the generation in each interval.
        let reads = store.reads.withLock { $0 }
        try await poll { store.reads.withLock { $0 } >= reads + 50 }
        // A second request if the store changed once more during the first.
        #expect(store.step.withLock { $0 } <= 5)
        serving.cancel()
        await serving.value
    }

    @Test("a witness that was silent is informed again, even if the store does not change")
    func informedAgain() async throws {
        let (record, failed) = (self.folder.file("again"), self.folder.file("failed"))
        let body = "[ -e \(failed) ] || { : >\(failed); exit 1; }; exec \(Self.shipped)/file-witness \(record)"
        let store = Store()
        let keeper = store.keeper(try self.witness(body), interval: .milliseconds(10))
        let serving = Task { await keeper.run() }
        try await poll { store.reads.withLock { $0 } != 0 }
        store.generation.withLock { $0 += 1 }
        try await poll { FileManager.default.fileExists(atPath: record) }
        serving.cancel()
        await serving.value
        #expect(FileManager.default.fileExists(atPath: failed))
    }

    /// Listens on a Unix socket until `body` returns; answers each connection's line, and leaves the connection open.
    private func serving(
        _ path: String,
        answer: @escaping @Sendable (String) -> String,
        _ body: () async throws -> Void
    ) async throws {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        async let served: Void = listener.executeThenClose { connections in
            for try await connection in connections {
                try await connection.executeThenClose { inbound, outbound in
                    var line = ""
                    for try await part in inbound {
                        line += String(buffer: part)
                        guard line.hasSuffix("\n") else { continue }
                        try await outbound.write(ByteBuffer(string: answer(line)))
                    }
                }
            }
        }
        try await body()
        try await listener.channel.close()
        try await served
    }

    @Test("a witness at a Unix socket gets a connection for each request, and its higher numbers prevent a start")
    func socket() async throws {
        let path = self.folder.file("witness.sock")
        let lines = Mutex<[String]>([])
        let known = Mutex(WitnessRecord(generation: 7, step: 4))
        try await self.serving(path) { line in
            lines.withLock { $0.append(line) }
            let record = known.withLock { $0 }
            // Longer than one read, which takes 2,048 bytes.
            let space = String(repeating: " ", count: 3_000)
            return "{\"generation\":\(record.generation ?? 0),\(space)\"step\":\(record.step ?? 0)}\nmore"
        } _: {
            let witness = Witness(.socket(path), limit: .seconds(30))
            let record = try await witness.note(WitnessNumbers(generation: 6, step: 4))
            #expect(record == WitnessRecord(generation: 7, step: 4))
            // The store has generation 7 and step 3, which is one step behind.
            let store = Store()
            await #expect(throws: WitnessFailure.self) { try await store.keeper(witness).start() }
            #expect(store.step.withLock { $0 } == 3)
            known.withLock { $0 = WitnessRecord(generation: 7, step: 3) }
            // The witness answers the first request, but does not note the step of the second one.
            await #expect(throws: WitnessFailure.self) { try await store.keeper(witness).start() }
        }
        #expect(
            lines.withLock { $0 } == [
                "{\"generation\":6,\"step\":4,\"witness\":1}\n", "{\"generation\":7,\"step\":3,\"witness\":1}\n",
                "{\"generation\":7,\"step\":3,\"witness\":1}\n", "{\"generation\":8,\"step\":4,\"witness\":1}\n",
            ]
        )
    }

    @Test(
        "a witness at a Unix socket that is absent, hangs up, does not answer or sends too much counts as silent",
        arguments: ["", "hang up", "wait", "flood"]
    )
    func silentSocket(behavior: String) async throws {
        let path = self.folder.file("silent.sock")
        let witness = Witness(.socket(path), limit: behavior == "wait" ? .milliseconds(300) : .seconds(30))
        let ask: @Sendable () async -> Void = {
            await #expect(throws: WitnessSilence.self) {
                try await witness.note(WitnessNumbers(generation: 2, step: 2))
            }
        }
        guard !behavior.isEmpty else { return await ask() }
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                switch behavior {
                case "hang up": channel.close(promise: nil)
                case "flood":
                    channel.writeAndFlush(ByteBuffer(repeating: 0x7B, count: 1 << 16), promise: nil)
                default: break
                }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(unixDomainSocketPath: path).get()
        await ask()
        try await listener.close()
    }

    @Test("the shipped program for a TPM counter follows the steps, and never counts down")
    func counter() async throws {
        let counter = self.folder.file("counter")
        try Data("40".utf8).write(to: URL(fileURLWithPath: counter))
        // Stand-ins for tpm2-tools: a counter that can be read and incremented.
        let value = "int(open('\(counter)').read())"
        _ = try self.program(
            "tpm2_nvread",
            "exec python3 -c \"import sys, struct; sys.stdout.buffer.write(struct.pack('>Q', \(value)))\""
        )
        _ = try self.program("tpm2_nvincrement", "echo $(($(cat \(counter)) + 1)) >\(counter)")
        let path = "PATH=\(self.folder.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
        let arguments = [path, "\(Self.shipped)/tpm2-witness", "0x1500016", "40"]
        let witness = Witness(.program("/usr/bin/env", arguments: arguments), limit: .seconds(30))
        for (step, known) in [(0, 0), (1, 1), (4, 4), (2, 4)] as [(UInt64, UInt64)] {
            let record = try await witness.note(WitnessNumbers(generation: 1, step: step))
            #expect(record == WitnessRecord(generation: nil, step: known))
        }
        await #expect(throws: WitnessSilence.self) {
            try await witness.note(WitnessNumbers(generation: 1, step: 50_000))
        }
        let last = String(decoding: try Data(contentsOf: URL(fileURLWithPath: counter)), as: UTF8.self)
        #expect(last.trimmingCharacters(in: .whitespacesAndNewlines) == "44")
    }

    @Test("a witness that hangs is killed with its children, also with those in another session")
    func children() async throws {
        let file = self.folder.file("children")
        let body = "sleep 600 & echo $! >\(file); setsid sleep 600 & echo $! >>\(file); wait"
        let witness = try self.witness(body, limit: .seconds(2))
        await #expect(throws: WitnessSilence.self) {
            try await witness.note(WitnessNumbers(generation: 2, step: 2))
        }
        let children = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").compactMap { Int32($0) }
        #expect(children.count == 2)
        for child in children { #expect(await eventually { !isRunning(child) }) }
    }

    @Test(
        "a witness that fails, hangs, forgets or answers something else is silent",
        arguments: [
            "exit 1", "sleep 60", "echo", "echo '{}'", "echo '{\"step\":1}'", "printf '{\"step\":99}'", "echo nonsense",
            "head -c 100000 /dev/zero",
        ]
    )
    func silence(body: String) async throws {
        let witness = try self.witness(body, limit: .milliseconds(body.hasPrefix("sleep") ? 300 : 30_000))
        await #expect(throws: WitnessSilence.self) {
            try await witness.note(WitnessNumbers(generation: 2, step: 2))
        }
        let store = Store()
        await #expect(throws: WitnessFailure.self) { try await store.keeper(witness).start() }
        try await store.keeper(witness, isRequired: false).start()
    }
}
