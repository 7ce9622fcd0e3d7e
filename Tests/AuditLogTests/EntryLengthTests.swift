import HostSystem
import Testing
import Vault
import Vocabulary

@testable import AuditLog

@Suite("The length of entries")
struct EntryLengthTests {
    @Test("an entry too long to read back is not written, and many wallets are spread over several entries")
    func tooLong() async throws {
        let log = try await LogUnderTest()
        _ = try await log.filled()
        let audit = try await log.open()
        func wallets(_ count: Int) -> AuditSubject {
            AuditSubject(wallets: (0..<count).map { _ in .random() }, recoveryCode: LogUnderTest.codeMAC)
        }
        await #expect(throws: AuditLogError.self) {
            try await audit.append(.revokeRecoveryCode, by: .wallet, on: wallets(120_000), .begun)
        }
        let subject = wallets(2 * AuditSubject.walletsInEntry + 1)
        let parts = subject.inParts
        #expect(parts.count == 3 && parts.flatMap(\.wallets) == subject.wallets)
        #expect(parts.allSatisfy { $0.recoveryCode == LogUnderTest.codeMAC })
        for part in parts { _ = try await audit.append(.revokeRecoveryCode, by: .wallet, on: part, .begun) }
        await audit.close()
        var named: [WalletID] = []
        let found = try await AuditReader(log.path, vault: KeyFileVault(log.keyFile)).verify {
            named += $0.record.subject.wallets
        }
        #expect(found.problem == nil && named.suffix(subject.wallets.count) == subject.wallets[...])
        #expect(wallets(1).inParts.count == 1 && AuditSubject().inParts == [AuditSubject()])
    }

    @Test("more bytes without a line end than any entry has are damage, regardless of the bytes after them")
    func endless() async throws {
        let log = try await LogUnderTest()
        let bytes = try await log.filled()
        try log.write(bytes + [UInt8](repeating: 0x61, count: AuditReader.longestLine + 1))
        #expect(try await log.verify().problem == .changed(line: 7, after: 6))
        await #expect(throws: AuditLogError.self) { _ = try await log.open() }
    }
}
