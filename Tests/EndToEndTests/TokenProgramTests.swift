import Foundation
import HostSystem
import LabFiles
import TestSupport
import Testing
import Transport
import Vocabulary

@Suite("A server whose roots are in a token, with the real programs")
struct TokenProgramTests {
    private static let pin = "135790"

    private let lab: LabUnderTest
    private let token: SoftToken

    init() async throws {
        self.lab = try await LabUnderTest()
        self.token = try await SoftToken()
    }

    private var backup: String { "\(self.lab.folder)/one.backup" }

    private static func environment(_ token: SoftToken) -> [String: String] {
        LabUnderTest.sixteenAttempts.merging(["REMOTE_PIN_VAULT_SOCKET": token.socket]) { $1 }
    }

    private func run(_ arguments: String..., with token: SoftToken? = nil) async throws -> ProgramRun {
        let socket = ["REMOTE_PIN_VAULT_SOCKET=\((token ?? self.token).socket)"]
        let program = [Programs.path("remote-pin-server")]
        return try await ServerProcess.run("/usr/bin/env", socket + program + arguments + ["--lab", self.lab.lab.path])
    }

    @discardableResult
    private func done(_ arguments: String...) async throws -> String {
        let program = Programs.path("remote-pin-server")
        let run = try await ServerProcess.run(program, arguments + ["--lab", self.lab.lab.path])
        try #require(run.exitCode == 0, "\(run.output)")
        return run.output
    }

    /// Moves the roots of a running server to the token, and returns the lines of the key file.
    private func move() async throws -> [Substring] {
        try await self.done("vault", "rotate", "--yes")
        try await poll {
            let status = try await self.run("vault", "status").output
            return status.contains("all values are sealed with version 2")
        }
        try await self.done("admin", "clock", "advance", "1h")
        let retired = try await self.done("vault", "retire", "--yes")
        #expect(retired.contains("destroy only the `key-N`"), "\(retired)")
        let imported = try await self.token.run(["import", self.lab.lab.vaultKeyFile, "index"])
        try #require(imported.exitCode == 0, "\(imported.output)")
        try await self.done("admin", "reload")
        return try DurableFile.readText(self.lab.lab.vaultKeyFile, atMost: 1 << 16).split(separator: "\n")
    }

    @Test("a serving installation moves to a module, and its backup restores with a second token of the same keys only")
    func restored() async throws {
        try await self.token.make("key-2", "history-2")
        let daemon = try await self.token.serve()
        var server = try await self.lab.start(Self.environment(self.token))
        let wallet = try await self.lab.register(pin: Self.pin)
        let lines = try await self.move()
        // The first history key verifies the audit log from before the rotation.
        #expect(lines.filter { $0.contains(#/ [0-9a-f]{64} /#) }.allSatisfy { $0.hasPrefix("history 1 ") }, "\(lines)")
        #expect(lines.count { $0.contains(" module ") } == 3, "\(lines)")
        #expect(try await wallet.openSession().check(Self.pin) == wallet.unlockShare.asValid)
        try await self.done("backup", self.backup)
        #expect(await server.terminate() == 0)
        #expect(await daemon.terminate() == 0)

        let second = try await SoftToken(restoring: self.token)
        try FileManager.default.removeItem(atPath: self.token.tokens)
        try FileManager.default.removeItem(atPath: self.lab.lab.dataFolder)
        let silent = try await self.run("restore", self.backup)
        #expect(silent.exitCode == 69 && silent.output.contains("start remote-pin-keys"), "\(silent.output)")
        let other = try await SoftToken()
        try await other.make("index", "key-2", "history-2")
        let stranger = try await other.serve()
        let refused = try await self.run("restore", self.backup, with: other)
        #expect(refused.exitCode == 78 && refused.output.contains("has no key `index`"), "\(refused.output)")
        #expect(await stranger.terminate() == 0)

        let successor = try await second.serve()
        let restored = try await self.run("restore", self.backup, with: second)
        #expect(restored.exitCode == 0, "\(restored.output)")
        server = try await self.lab.start(Self.environment(second))
        #expect(try await wallet.openSession().check(Self.pin) == wallet.unlockShare.asValid)
        #expect(await server.terminate() == 0)
        #expect(await successor.terminate() == 0)
    }
}
