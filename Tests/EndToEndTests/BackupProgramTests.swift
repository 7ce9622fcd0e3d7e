import Foundation
import HostSystem
import Lab
import LabFiles
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("Backup and restore, with the real programs")
struct BackupProgramTests {
    private let lab: LabUnderTest

    init() async throws { self.lab = try await LabUnderTest() }

    private var data: String { self.lab.lab.dataFolder }
    private static let log = ["REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "notice"]

    private func file(_ name: String) -> String { "\(self.lab.folder)/\(name)" }

    private func run(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", arguments + ["--lab", self.lab.lab.path])
    }

    private func done(_ arguments: String...) async throws -> JSONValue {
        let run = try await ServerProcess.run("remote-pin-server", arguments + ["--json", "--lab", self.lab.lab.path])
        try #require(run.exitCode == 0, "\(run.output)")
        // Messages about the audit log go to standard error, which is captured too.
        let line = try (run.output.split(separator: "\n").last { $0.hasPrefix("{") }).orThrow()
        return try JSONValue(String(line))
    }

    private func move(_ from: String, to: String) throws {
        try FileManager.default.moveItem(atPath: from, toPath: to)
    }

    private func state(of wallet: TestWallet) async throws -> PINState? {
        let session = try await wallet.openSession()
        session.connection.close()
        return session.pinState
    }

    @Test("after a restore each wallet is in its last round, its right PIN resets it, and revoked wallets stay revoked")
    func restored() async throws {
        var server = try await self.lab.start(Self.log)
        let (wallet, revoked) = (try await self.lab.register(pin: "135790"), try await self.lab.register(pin: "135790"))
        _ = try await wallet.openSession().check("135790")
        let backup = try await self.done("backup", self.file("one.backup"))
        #expect(backup["vaultKeyIncluded"] == .boolean(false))
        #expect(try DurableFile.mode(of: self.file("one.backup")) == 0o600)
        for _ in 0..<3 { _ = try await wallet.openSession().check("000000") }
        let text = try revoked.deletionCode.orThrow().characters
        #expect(await (try self.lab.server.connect()).answer(.revokeWithCode(text)) == .other("revoked"))
        #expect(try await self.run("restore", self.file("one.backup")).exitCode == 69)
        #expect(await server.terminate() == 0)
        #expect(try await self.run("restore", self.file("one.backup")).exitCode == 74)
        try self.move(self.data, to: self.file("lost"))

        let report = try await self.done("restore", self.file("one.backup"))
        #expect(report["epoch"] == .integer(2) && report["endedAgain"] == .integer(1))
        server = try await self.lab.start(Self.log)
        #expect(try await self.state(of: wallet) == .open(attemptsLeft: 4, finalRound: true))
        let session = try await wallet.openSession()
        #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        #expect(try await self.state(of: wallet) == .open(attemptsLeft: 4, finalRound: false))
        guard case .revoked(.byDeletionCode) = try await revoked.openSession().opening else {
            Issue.record("a revoked wallet can be used again")
            return
        }
        #expect(try await self.done("admin", "status")["epoch"] == .integer(2))
        #expect(await server.terminate() == 0)
    }

    @Test("production learns nothing of a drill, and the store of a drill and any other are never served as the other")
    func drill() async throws {
        var server = try await self.lab.start(Self.log)
        let wallet = try await self.lab.register(pin: "135790")
        _ = try await self.done("backup", self.file("one.backup"))
        #expect(await server.terminate() == 0)
        let configuration = try DurableFile.read(self.lab.lab.configurationFile, atMost: 1 << 20)
        let told = self.file("told")
        let program = "{program: /bin/sh, arguments: [-c, 'echo told >> \(told); exit 1']}"
        var text = String(decoding: configuration, as: UTF8.self)
        for section in ["hook", "witness"] {
            text = text.replacing("\n\(section):\n", with: "\n\(section): \(program)\n")
        }
        try DurableFile.write(Array(text.utf8), to: self.lab.lab.configurationFile)
        func serve(_ flags: String...) async throws -> ProgramRun {
            try await ServerProcess.run("remote-pin-server", ["serve", self.lab.lab.path] + flags)
        }
        let other = try await serve("--drill")
        #expect(other.exitCode == 79 && other.output.contains("only a store that `restore --drill` placed"))
        try self.move(self.data, to: self.file("lost"))

        #expect(try await self.done("restore", self.file("one.backup"), "--drill")["epoch"] == .integer(2))
        let wallets = try await serve()
        #expect(wallets.exitCode == 79 && wallets.output.contains("is the copy of a drill"), "\(wallets.output)")
        let open = try await serve("--drill", "--listen.address", "0.0.0.0:0")
        #expect(open.exitCode == 78 && open.output.contains("--listen.address: the flag is given twice"))
        server = try await ServerProcess.start(["serve", "--drill", self.lab.lab.path])
        #expect(server.output.contains("127.0.0.1:"))
        #expect(try await self.done("admin", "status")["epoch"] == .integer(2))
        _ = try await self.done("admin", "revoke", "wallet", "\(wallet.walletID)")
        #expect(await server.terminate() == 0)
        let doctor = try await ServerProcess.run("remote-pin-server", ["doctor", self.lab.lab.path])
        #expect(doctor.output.contains("problem  the copy of a drill"), "\(doctor.output)")
        #expect(!DurableFile.exists(told))

        // For wallets, the witness is asked; without one, the mark of the drill goes.
        try self.move(self.data, to: self.file("drill"))
        #expect(try await self.run("restore", self.file("one.backup")).exitCode == 69)
        #expect(DurableFile.exists(told))
        try DurableFile.write(configuration, to: self.lab.lab.configurationFile)
        try DurableFile.makeFolder(self.data)
        try FileManager.default.copyItem(atPath: "\(self.file("drill"))/drill", toPath: "\(self.data)/drill")
        _ = try await self.done("restore", self.file("one.backup"))
        server = try await self.lab.start(Self.log)
        #expect(await server.terminate() == 0)
    }

    @Test("a server does not start with an older store or a backup in place of its store")
    func swapped() async throws {
        var server = try await self.lab.start(Self.log)
        _ = try await self.lab.register(pin: "135790")
        _ = try await self.done("backup", self.file("one.backup"))
        #expect(await server.terminate() == 0)
        try FileManager.default.copyItem(atPath: self.data, toPath: self.file("old"))
        try self.move(self.data, to: self.file("away"))
        _ = try await self.done("restore", self.file("one.backup"), "--epoch", "trust")
        server = try await self.lab.start(Self.log)
        #expect(await server.terminate() == 0)
        try self.move(self.data, to: self.file("restored"))

        try self.move(self.file("old"), to: self.data)
        let older = await #expect(throws: ServerProcess.NotReady.self) { try await self.lab.start(Self.log) }
        #expect(older?.output.contains("epoch") == true, "\(older?.output ?? "")")
        let bytes = try DurableFile.read(self.file("one.backup"), atMost: 1 << 26)
        try DurableFile.write(bytes, to: "\(self.data)/wallets.db")
        let backup = await #expect(throws: ServerProcess.NotReady.self) { try await self.lab.start(Self.log) }
        #expect(backup?.output.contains("the file is a backup") == true, "\(backup?.output ?? "")")
    }

    @Test("with a flipped bit in a killed server's log it is not served; a restore of what is left charges each wallet")
    func damagedLog() async throws {
        var server = try await self.lab.start(Self.log)
        let wallet = try await self.lab.register(pin: "135790")
        for _ in 0..<3 { _ = try await wallet.openSession().check("000000") }
        await server.kill()
        let log = "\(self.data)/wallets.db-wal"
        var bytes = try DurableFile.read(log, atMost: 1 << 26)
        bytes[bytes.count - 60] ^= 1
        try DurableFile.write(bytes, to: log)
        let copy = self.file("left.backup")
        for arguments in [["serve", self.lab.lab.path], ["backup", copy, "--lab", self.lab.lab.path]] {
            let refused = try await ServerProcess.run("remote-pin-server", arguments)
            #expect(refused.exitCode == 79 && refused.output.contains("--damaged"), "\(refused.output)")
        }
        _ = try await self.done("backup", copy, "--damaged")
        let again = try await ServerProcess.run("remote-pin-server", ["serve", self.lab.lab.path])
        #expect(again.exitCode == 79, "\(again.output)")
        try self.move(self.data, to: self.file("damaged"))
        let mild = try await self.run("restore", copy, "--epoch", "trust")
        #expect(mild.exitCode == 65 && mild.output.contains("strict or charge-one"), "\(mild.output)")
        #expect(try await self.done("restore", copy)["epoch"] == .integer(2))
        server = try await self.lab.start(Self.log)
        #expect(try await self.state(of: wallet) == .open(attemptsLeft: 4, finalRound: true))
        #expect(await server.terminate() == 0)
    }

    @Test("what is left of a damaged store whose audit log is lost can be restored, after a warning")
    func damagedWithoutLog() async throws {
        let server = try await self.lab.start(Self.log)
        let wallet = try await self.lab.register(pin: "135790")
        _ = try await wallet.openSession().check("000000")
        await server.kill()
        let log = "\(self.data)/wallets.db-wal"
        var bytes = try DurableFile.read(log, atMost: 1 << 26)
        bytes[bytes.count - 60] ^= 1
        try DurableFile.write(bytes, to: log)
        try self.move("\(self.lab.lab.serverFolder)/audit.log", to: self.file("audit.lost"))
        let copy = self.file("left.backup")
        _ = try await self.done("backup", copy, "--damaged")
        try self.move(self.data, to: self.file("damaged"))
        let asked = try await self.run("restore", copy)
        #expect(asked.exitCode == 64 && asked.output.contains("G7"), "\(asked.output)")
        #expect(try await self.done("restore", copy, "--yes")["epoch"] == .integer(2))
    }

    @Test("without the audit log a restore needs an option, and an invalid rule or a missing backup is named")
    func asking() async throws {
        _ = try await self.done("backup", self.file("one.backup"))
        try self.move(self.data, to: self.file("away"))
        try self.move("\(self.lab.lab.serverFolder)/audit.log", to: self.file("audit.away"))
        let asked = try await self.run("restore", self.file("one.backup"))
        #expect(
            asked.exitCode == 64 && asked.output.contains("G7") && asked.output.contains("--yes"),
            "\(asked.output)"
        )
        #expect(!DurableFile.exists("\(self.data)/wallets.db"))
        #expect(try await self.run("restore", self.file("one.backup"), "--epoch", "mild").exitCode == 64)
        #expect(try await self.run("restore", self.file("none.backup")).exitCode == 74)
        let report = try await self.done("restore", self.file("one.backup"), "--yes", "--epoch", "charge-one")
        #expect(report["rule"] == .string("charge-one") && report["auditLogProblem"] != nil)
        let server = try await self.lab.start(Self.log)
        #expect(await server.terminate() == 0)
    }

    @Test("after a mistaken restore the earlier store is copied and restored, and all its revocations still hold")
    func mistaken() async throws {
        var server = try await self.lab.start(Self.log)
        let (first, second) = (try await self.lab.register(pin: "135790"), try await self.lab.register(pin: "135790"))
        let wrong = try await self.done("backup", self.file("wrong.backup"))
        let newest = try await self.lab.register(pin: "135790")
        #expect(await server.terminate() == 0)
        // The worst case: a copy that lacks the changes of its own epoch.
        try FileManager.default.copyItem(atPath: self.data, toPath: self.file("kept"))
        server = try await self.lab.start(Self.log)
        #expect(try await self.run("admin", "revoke", "wallet", "\(first.walletID)").exitCode == 0)
        #expect(await server.terminate() == 0)

        try self.move(self.data, to: self.file("away"))
        _ = try await self.done("restore", self.file("wrong.backup"))
        server = try await self.lab.start(Self.log)
        #expect(try await self.run("admin", "revoke", "wallet", "\(second.walletID)").exitCode == 0)
        #expect(try await self.run("admin", "clock", "advance", "2h").exitCode == 0)
        #expect(await server.terminate() == 0)
        try self.move(self.data, to: self.file("mistaken"))

        try self.move(self.file("kept"), to: self.data)
        let refused = await #expect(throws: ServerProcess.NotReady.self) { try await self.lab.start(Self.log) }
        #expect(refused?.output.contains("remote-pin-server backup FILE") == true, "\(refused?.output ?? "")")
        let kept = try await self.done("backup", self.file("kept.backup"))
        // The copy is dated like the first backup, within an hour.
        let moments = try [wrong, kept].map { try Date((($0["takenAt"]?.string).orThrow()), strategy: .iso8601) }
        #expect(moments[1].timeIntervalSince(moments[0]) < 3600, "\(kept)")
        try self.move(self.data, to: self.file("copied"))
        let report = try await self.done("restore", self.file("kept.backup"))
        #expect(report["epoch"] == .integer(3) && report["endedAgain"] == .integer(2))
        server = try await self.lab.start(Self.log)
        #expect(try await self.state(of: newest) == .open(attemptsLeft: 4, finalRound: true))
        for wallet in [first, second] {
            guard case .revoked = try await wallet.openSession().opening else {
                Issue.record("a revoked wallet can be used again")
                return
            }
        }
        #expect(await server.terminate() == 0)
    }

    @Test("a backup of a stopped server has audit entries for its beginning and for its success or failure")
    func onRecord() async throws {
        let log = "\(self.lab.lab.serverFolder)/audit.log"
        func phases() throws -> [JSONValue?] {
            let text = String(decoding: try DurableFile.read(log, atMost: 1 << 20), as: UTF8.self)
            return try text.split(separator: "\n").map { try JSONValue(String($0)) }
                .filter { $0["event"] == .string("backup") }.map { $0["phase"] }
        }
        _ = try await self.done("backup", self.file("one.backup"))
        #expect(try phases() == [.string("begun"), .string("done")])
        #expect(try await self.run("backup", self.file("one.backup")).exitCode == 74)
        #expect(try phases().suffix(2) == [.string("begun"), .string("failed")])
    }

    private var keyFile: String { "\(self.lab.lab.serverFolder)/vault.key" }

    @Test("backup and restore are rejected for any user but the server's, with the way out")
    func otherUser() async throws {
        guard getuid() == 0 else { return }
        _ = try await self.done("backup", self.file("one.backup"))
        try self.move(self.data, to: self.file("away"))
        try FileManager.default.setAttributes([.ownerAccountID: 1], ofItemAtPath: self.keyFile)
        let run = try await self.run("restore", self.file("one.backup"))
        #expect(run.exitCode == 77 && run.output.contains("sudo -u '"), "\(run.output)")
        #expect(!DurableFile.exists(self.data))
        try self.move(self.file("away"), to: self.data)
        #expect(try await self.run("backup", self.file("two.backup")).exitCode == 77)
        try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: self.keyFile)
        _ = try await self.done("backup", self.file("two.backup"))
    }

    @Test("a server does not start with a key file from before a rotation, and names the copy to install")
    func olderKeyFile() async throws {
        var server = try await self.lab.start(Self.log)
        let wallet = try await self.lab.register(pin: "135790")
        let copy = try DurableFile.read(self.keyFile, atMost: 1 << 16)
        #expect(try await self.done("vault", "rotate", "--yes")["version"] == .integer(2))
        let keys = try await self.run("vault", "status", "--json")
        #expect(keys.output.contains("\"inKeyFile\":true") && !keys.output.contains("\"inKeyFile\":false"))
        #expect(try await self.run("vault", "rotate", "--yes").exitCode == 77)
        let early = try await self.run("vault", "retire", "--yes")
        #expect(early.exitCode == 77 && early.output.contains("until "), "\(early.output)")
        #expect(await server.terminate() == 0)
        let newest = try DurableFile.read(self.keyFile, atMost: 1 << 16)
        try DurableFile.write(copy, to: self.keyFile)
        let older = await #expect(throws: ServerProcess.NotReady.self) { try await self.lab.start(Self.log) }
        #expect(older?.output.contains("from before a rotation") == true, "\(older?.output ?? "")")
        try DurableFile.write(newest, to: self.keyFile)
        server = try await self.lab.start(Self.log)
        #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        #expect(await server.terminate() == 0)
    }

    @Test("a restore that is killed at any moment leaves no store or a complete one; the same command then finishes it")
    func killed() async throws {
        var server = try await self.lab.start(Self.log)
        let (wallet, revoked) = (try await self.lab.register(pin: "135790"), try await self.lab.register(pin: "135790"))
        _ = try await self.done("backup", self.file("one.backup"))
        #expect(try await self.run("admin", "revoke", "wallet", "\(revoked.walletID)").exitCode == 0)
        #expect(await server.terminate() == 0)
        var random = SeededRandom(for: "restores")
        for round in 0..<12 {
            try self.move(self.data, to: self.file("away-\(round)"))
            for _ in 0..<4 where !DurableFile.exists("\(self.data)/wallets.db") {
                let seconds = "0.0\(Int.random(in: 10...99, using: &random))"
                _ = try await ServerProcess.run(
                    "/usr/bin/timeout",
                    ["-s", "KILL", seconds, Programs.path("remote-pin-server"), "restore", self.file("one.backup")]
                        + ["--lab", self.lab.lab.path]
                )
            }
            if !DurableFile.exists("\(self.data)/wallets.db") {
                _ = try await self.done("restore", self.file("one.backup"))
            }
            server = try await self.lab.start(Self.log)
            #expect(try await self.state(of: wallet) == .open(attemptsLeft: 4, finalRound: true))
            guard case .revoked = try await revoked.openSession().opening else {
                Issue.record("a revoked wallet can be used again")
                return
            }
            #expect(await server.terminate() == 0)
        }
    }
}
