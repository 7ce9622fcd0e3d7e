import Administration
import AdminProtocol
import AuditLog
import Foundation
import HostSystem
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Vault
import Vocabulary

@Suite("Backups")
struct BackupTests {
    private static func restoring(_ path: String, _ server: InProcessServer, _ name: String = "r") async
        -> RestoreFailure?
    {
        do {
            try await server.restore(path, into: name)
            return nil
        } catch {
            return error as? RestoreFailure
        }
    }

    @Test(
        "a backup is made during PIN checks, only its owner can read it, it is on record and lacks the vault's key"
    )
    func made() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            async let path = server.backup("one")
            for _ in 0..<20 { #expect(try await session.check("135790") == wallet.unlockShare.asValid) }
            let backup = try await path
            #expect(try DurableFile.mode(of: backup) == 0o600)
            #expect(!DurableFile.exists(backup + ".partial"))
            let entries = try await server.record().filter { $0.event == .backup }
            #expect(entries.count == 3 && entries.allSatisfy { $0.detail == backup })
            let bytes = Data(try DurableFile.read(backup, atMost: 1 << 26))
            let key = try String(contentsOfFile: "\(server.folder.path)/vault.key", encoding: .utf8)
            for line in key.split(separator: "\n") where line.hasPrefix("key") || line.hasPrefix("index") {
                let digits = String(try (line.split(separator: " ").first { $0.count == 64 }).orThrow())
                #expect(bytes.range(of: Data(digits.utf8)) == nil)
                #expect(bytes.range(of: Data(try [UInt8](hex: digits).orThrow())) == nil)
            }
        }
    }

    @Test("no file is overwritten, a missing folder is named, and an interrupted backup's remains are removed")
    func destinations() async throws {
        try await InProcessServer.run { server in
            let backup = try await server.backup("one")
            let before = try DurableFile.read(backup, atMost: 1 << 26)
            #expect(await server.refusal(of: StartBackup(path: backup))?.kind == .notAllowed)
            #expect(try DurableFile.read(backup, atMost: 1 << 26) == before)
            await #expect(throws: UnexpectedAnswer.self) { try await server.backup("no/such/folder") }
            try DurableFile.write([1, 2, 3], to: "\(server.folder.path)/two.backup.partial")
            _ = try await server.backup("two")
            #expect(!DurableFile.exists("\(server.folder.path)/two.backup.partial"))
        }
    }

    @Test("a backup with changed pages, label or length, or of another vault, is not restored")
    func tampering() async throws {
        try await InProcessServer.run { server in
            for _ in 0..<3 { _ = try await server.wallet() }
            let backup = try await server.backup("one")
            await server.stop()
            let whole = try DurableFile.read(backup, atMost: 1 << 26)
            let label = whole.count - 512
            var random = SeededGenerator(seed: 5)
            var tampered: [[UInt8]] = [
                [], Array(whole.prefix(600)), Array(whole.dropLast()), Array(whole.dropLast(512)), whole + [0x0A],
                Array(whole[label...]), Array(whole.dropFirst(4096)), whole + whole.suffix(512),
            ]
            for _ in 0..<40 {
                var bytes = whole
                bytes[Int.random(in: 0..<label, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                tampered.append(bytes)
            }
            let text = String(decoding: whole[label...], as: UTF8.self)
            for (old, new) in [
                ("\"epoch\":1", "\"epoch\":2"), ("\"auditNumber\":", "\"auditNumber\":1"),
                ("\"takenAt\":1", "\"takenAt\":2"),
            ] {
                let changed = Array(text.replacing(old, with: new).utf8.prefix(511)) + [0x0A]
                tampered.append(Array(whole[..<label]) + changed)
            }
            for (index, bytes) in tampered.enumerated() {
                let path = "\(server.folder.path)/tampered"
                try DurableFile.write(bytes, to: path)
                let failure = await Self.restoring(path, server)
                switch failure {
                case .notABackup, .foreign, .damaged: break
                default: Issue.record("\(index): \(String(describing: failure))")
                }
                #expect(!DurableFile.exists("\(server.folder.path)/r/wallets.db"))
            }
            let other = "\(server.folder.path)/other.key"
            try KeyFileVault.create(at: other)
            var parts = server.restoration(backup, into: "r")
            parts = Restoration(
                Restoration.Parts(
                    backup: backup,
                    dataFolder: "\(server.folder.path)/r",
                    auditLog: server.auditPath,
                    vault: try await KeyFileVault(other),
                    clock: server.clock,
                    actor: AuditActor(rawValue: "test")
                )
            )
            let foreign = parts
            await #expect(throws: RestoreFailure.foreign(backup)) { try await foreign.plan() }
        }
    }

    @Test(
        "with a key file that lacks a version of the backup's time, nothing is restored"
    )
    func missingVersion() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let path = "\(server.folder.path)/vault.key"
            _ = try await KeyFileVault(path).addVersion(activating: true)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let backup = try await server.backup("one")
            await server.stop()
            let without = text.split(separator: "\n").filter { !$0.hasPrefix("key 1 ") }.joined(separator: "\n") + "\n"
            try DurableFile.write(Array(without.utf8), to: "\(server.folder.path)/without.key")
            let restoration = Restoration(
                Restoration.Parts(
                    backup: backup,
                    dataFolder: "\(server.folder.path)/r",
                    auditLog: server.auditPath,
                    vault: try await KeyFileVault("\(server.folder.path)/without.key"),
                    clock: server.clock,
                    actor: AuditActor(rawValue: "test")
                )
            )
            await #expect(throws: RestoreFailure.sealed(wallet: wallet.walletID.description)) {
                try await restoration.run()
            }
            try await server.restore(backup, into: "r")
        }
    }
}
