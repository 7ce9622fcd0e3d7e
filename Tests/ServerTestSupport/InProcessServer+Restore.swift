internal import Administration
package import AuditLog
internal import Logging
package import PINPolicy
package import StoreMaintenance
package import TestSupport
package import Vault
internal import Vocabulary
package import WalletStore

/// Backups and restores of a server in this process.
extension InProcessServer {
    package var auditPath: String { "\(self.folder.path)/audit.log" }

    /// Makes a backup with an operator's command; returns its path.
    package func backup(_ name: String) async throws -> String {
        let path = "\(self.folder.path)/\(name).backup"
        let before = try await self.record().count
        try await self.give(StartBackup(path: path))
        // Without asking the server, because each request is on record.
        for _ in 0..<1_000_000 {
            for entry in try await self.record().dropFirst(before)
            where entry.event == .backup && entry.actor == .server {
                if case .done(of: nil, _) = entry.phase, entry.detail == path { return path }
                if case .failed = entry.phase { throw UnexpectedAnswer() }
            }
            await Task.yield()
        }
        throw UnexpectedAnswer()
    }

    /// Creates the maintenance of a restarted server.
    package func makeMaintenance(lease: (any ServerLease)? = nil) -> Maintenance {
        let log = self.log.handler
        return Maintenance(
            Maintenance.Parts(
                store: self.store,
                lease: lease,
                vault: self.vault,
                clock: self.clock,
                audit: self.audit,
                epoch: 1,
                purgeAfter: .seconds(365 * 86_400),
                tokenLifetime: .seconds(300),
                sessionLifetime: .seconds(900),
                log: Logger(label: "test") { _ in log }
            )
        )
    }

    /// Closes store and audit log, because a restore needs exclusive access to the log.
    package func stop() async {
        await self.audit.close()
        await self.store.close()
    }

    package func restoration(
        _ backup: String,
        into name: String,
        rule: EpochRule = .strict,
        auditLog: String? = nil,
        last: AuditMark? = nil,
        vault: KeyFileVault? = nil,
        endsDamaged: Bool = false,
        witnessed: (generation: UInt64, step: UInt64) = (0, 0),
        stage: @escaping @Sendable (Restoration.Stage) throws -> Void = { _ in }
    ) -> Restoration {
        var parts = Restoration.Parts(
            backup: backup,
            dataFolder: "\(self.folder.path)/\(name)",
            auditLog: auditLog ?? self.auditPath,
            vault: vault ?? self.vault,
            clock: self.clock,
            actor: AuditActor(rawValue: "test"),
            rule: rule,
            last: last,
            stage: stage
        )
        parts.endsDamaged = endsDamaged
        parts.witnessed = witnessed
        return Restoration(parts)
    }

    /// Flips a bit of a wallet's sealed identity, as a faulty disk does; the first four bytes are
    /// its key's version.
    package func damage(_ wallet: TestWallet, at place: Int = 40) async throws {
        try await self.replaceIdentity(of: wallet) { $0[place] ^= 8 }
    }

    /// Flips a bit of the sealed PIN key in a wallet's identity, whose outer layer still opens.
    package func damagePINKey(of wallet: TestWallet) async throws {
        try await self.replaceIdentity(of: wallet) { sealed in
            var layers = try self.vault.openIdentity(sealed, of: wallet.walletID)
            layers.pinKey[40] ^= 8
            sealed = try self.vault.sealIdentity(layers, of: wallet.walletID)
        }
    }

    private func replaceIdentity(of wallet: TestWallet, _ body: (inout Sealed) throws -> Void) async throws {
        let all = try await self.store.sealedValues(after: nil, limit: 100)
        let old = try (all.first { $0.walletID == wallet.walletID }).orThrow().values
        var new = old
        try body(&new.identity)
        try await self.store.replace([SealedReplacement(walletID: wallet.walletID, old: old, new: new)])
    }

    /// Restores a backup, with any problem of the audit log.
    @discardableResult
    package func restore(
        _ backup: String,
        into name: String,
        rule: EpochRule = .strict,
        auditLog: String? = nil
    ) async throws -> Restoration.Report {
        try await self.restoration(backup, into: name, rule: rule, auditLog: auditLog).run()
    }

    /// Opens a restored store for `body`.
    package func opened<Result>(
        _ name: String,
        _ body: (SQLiteWalletStore) async throws -> Result
    ) async throws -> Result {
        let key = RecordKey.derived(by: self.vault)
        let store = try SQLiteWalletStore.open(folder: "\(self.folder.path)/\(name)", key: key)
        do {
            let result = try await body(store)
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }
}
