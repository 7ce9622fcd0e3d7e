internal import AuditLog
internal import Crypto
internal import EmbeddedServer
internal import Foundation
internal import HostSystem
@testable import StoreMaintenance
internal import TestSupport
internal import Vault
internal import Vocabulary
internal import WalletStore

/// A backup with changed bytes, and its restore.
///
/// An input is a byte of options and ``Patches`` of the backup.
final class BackupTarget: FuzzTarget {
    let optionByteCount = 1

    /// Bit 0: the backup gets a label for its changed pages, so that the restore reads them.
    private static let relabels: UInt8 = 1

    private let queue = JobQueue()
    private let clock = ManualClock()
    private let folder: String
    private let vault: KeyFileVault
    private let backup, audit: [UInt8]

    init(folder: String) throws {
        self.folder = folder
        try KeyFileVault.create(at: "\(folder)/vault.key")
        let clock = self.clock
        let vault = try self.queue.result { try await KeyFileVault("\(folder)/vault.key") }
        self.vault = vault
        try DurableFile.makeFolder("\(folder)/data")
        try self.queue.result { try await Self.makeBackup(in: folder, vault, clock) }
        self.backup = try DurableFile.read("\(folder)/first.backup", atMost: 1 << 24)
        self.audit = try DurableFile.read("\(folder)/audit.log", atMost: 1 << 24)
    }

    private static func makeBackup(in folder: String, _ vault: KeyFileVault, _ clock: ManualClock) async throws {
        let store = try SQLiteWalletStore.open(
            folder: "\(folder)/data",
            key: RecordKey.derived(by: vault),
            creating: true
        )
        let parts = AuditLog.Parts(path: "\(folder)/audit.log", vault: vault, clock: clock)
        try await AuditLog.create(parts)
        let audit = try await AuditLog.open(parts)
        for _ in 0..<3 {
            let wallet = StoredTestWallet()
            try await wallet.register(in: store, at: clock.now())
            try await wallet.judge(rightPINs: 1, in: store, at: clock.now())
        }
        let maker = BackupMaker(store: store, vault: vault, clock: clock, newestEntry: { audit.newest })
        _ = try await maker.make(at: "\(folder)/first.backup") { _, _ in }
        await audit.close()
        await store.close()
    }

    func run(_ input: [UInt8]) {
        guard let options = input.first else { return }
        var backup = Patches.apply(input.dropFirst(), to: self.backup)
        let isRelabelled = options & Self.relabels != 0
        if isRelabelled { backup = self.relabelled(backup) }
        self.write(backup)
        var parts = Restoration.Parts(
            backup: "\(self.folder)/changed.backup",
            dataFolder: "\(self.folder)/restored",
            auditLog: "\(self.folder)/log/audit.log",
            vault: self.vault,
            clock: self.clock,
            actor: AuditActor(rawValue: "fuzz")
        )
        parts.endsDamaged = options & 2 != 0
        let restoration = Restoration(parts)
        let isRestored = self.queue.value { (try? await restoration.run()) != nil }
        require(!isRestored || isRelabelled || backup == self.backup, "a changed backup is restored")
    }

    private func write(_ backup: [UInt8]) {
        do {
            for name in ["restored", "log"] where DurableFile.exists("\(self.folder)/\(name)") {
                try FileManager.default.removeItem(atPath: "\(self.folder)/\(name)")
            }
            try DurableFile.makeFolder("\(self.folder)/log")
            try DurableFile.create(self.audit, at: "\(self.folder)/log/audit.log")
            try DurableFile.write(backup, to: "\(self.folder)/changed.backup")
        } catch {
            fatalError("\(self.folder) cannot be written: \(error)")
        }
    }

    /// The pages of a backup with a new label.
    private func relabelled(_ backup: [UInt8]) -> [UInt8] {
        let pages = Array(backup.dropLast(BackupLabel.byteCount))
        let (vault, old) = (self.vault, Array(self.backup.suffix(BackupLabel.byteCount)))
        let line: [UInt8]? = self.queue.value {
            guard var label = try? BackupLabel.read(old, by: vault) else { return nil }
            label.pagesByteCount = pages.count
            label.digest = Array(SHA256.hash(data: pages))
            return label.line(by: vault)
        }
        return pages + (line ?? [])
    }

    var seeds: [[UInt8]] {
        [
            [0], [1], [3], [0] + Patches.patch(self.backup.count - 300, [0x31]), [1] + Patches.patch(4096, [13, 0, 0]),
            [1] + Patches.patch(100, [5]), [3] + Patches.patch(3 * 4096 + 2000, [1, 2, 3, 4]),
        ]
    }
}
