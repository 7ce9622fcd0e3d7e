import Foundation
import HostSystem
import Synchronization
import TestSupport
import Testing
import Vault
import Vocabulary

@testable import AuditLog

/// A log in a separate folder, with a separate vault.
final class LogUnderTest: Sendable {
    let folder = TemporaryFolder()
    let clock = ManualClock()
    private let told = Mutex<[AuditMark]>([])
    /// The announcements to the log stream.
    var marks: [AuditMark] { self.told.withLock { $0 } }
    var path: String { self.folder.file("audit.log") }
    var keyFile: String { self.folder.file("vault.key") }
    let vault: KeyFileVault

    init() async throws {
        let keyFile = self.folder.file("vault.key")
        try KeyFileVault.create(at: keyFile)
        self.vault = try await KeyFileVault(keyFile)
    }

    static let wallets = (0..<4).compactMap { WalletID([UInt8](repeating: UInt8($0), count: 16)) }
    static let codeMAC = RecoveryCodeMAC([UInt8](repeating: 0xAB, count: 32))

    var parts: AuditLog.Parts {
        AuditLog.Parts(path: self.path, vault: self.vault, clock: self.clock) { mark in
            self.told.withLock { $0.append(mark) }
        }
    }

    /// The parts of a log on a separate disk.
    func parts(on disk: SmallDisk) -> AuditLog.Parts {
        var parts = self.parts
        parts.path = disk.path + "/audit.log"
        return parts
    }

    func create() async throws { try await AuditLog.create(self.parts) }

    func open() async throws -> AuditLog { try await AuditLog.open(self.parts) }

    /// A closed log of six entries.
    func filled() async throws -> [UInt8] {
        try await self.create()
        let log = try await self.open()
        let alice = AuditActor.user(1000, name: "alice")
        let subject = AuditSubject(wallets: Self.wallets)
        let begun = try await log.append(.revokeWallets, by: alice, on: subject, .begun)
        self.clock.advance(by: .seconds(1))
        let done = AuditPhase.done(of: begun.number, result: "4 revoked")
        try await log.append(.revokeWallets, by: alice, on: subject, done)
        try await log.append(.wipe, by: .wallet, on: AuditSubject(wallets: [Self.wallets[0]]), .begun)
        let code = AuditSubject(recoveryCode: Self.codeMAC)
        try await log.append(.revokeRecoveryCode, by: alice, on: code, .failed(of: nil, reason: "\"why\"\n"))
        try await log.append(.init(rawValue: "status"), by: alice, .done(of: nil, result: ""), detail: "é")
        await log.close()
        return try self.bytes()
    }

    func bytes() throws -> [UInt8] { try DurableFile.read(self.path, atMost: 1 << 24) }

    /// Writes as an attacker would; without a sync, since the tests examine thousands of such files.
    func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: self.path)) }

    func verify(last: AuditMark? = nil) async throws -> AuditVerification {
        try await AuditReader(self.path, vault: self.vault).verify(last: last)
    }

    /// The lines, including their ends.
    static func lines(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.split(separator: 0x0A).map { Array($0) + [0x0A] }
    }
}
