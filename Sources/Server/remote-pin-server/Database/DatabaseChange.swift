internal import AuditLog
internal import PostgreSQLStore
internal import ServerCommandLine
internal import WalletStore

/// A change that a command makes to a store shared by several servers, recorded in the audit log of one of them, which
/// is stopped.
///
/// The change is in the log before it is committed, and the store names that entry in the same commit. The change can
/// therefore neither be made without an entry nor lose its entry unnoticed.
struct DatabaseChange {
    let store: PostgreSQLWalletStore
    let audit: AuditLog
    private let server: StoppedServer

    /// Opens the store and the log for a change, and closes them afterwards.
    static func run(
        _ parts: StoreParts,
        of server: StoppedServer,
        in database: DatabaseSettings,
        _ work: (DatabaseChange) async throws -> Void
    ) async throws {
        var parts = parts
        // The store compares this mark with the database, and the change raises it.
        parts.commitMark = CommitMark.path(ofAuditLog: server.auditPath)
        let store = try await database.open(parts)
        do {
            let epoch = try await StoreChecks.epoch(of: store, vault: server.vault)
            let audit = try await server.openAudit(epoch: epoch, of: store, as: database.server)
            do {
                try await work(DatabaseChange(store: store, audit: audit, server: server))
            } catch {
                await audit.close()
                throw error
            }
            await audit.close()
        } catch {
            await store.close()
            guard let error = error as? StoreError else { throw error }
            throw StartFailure(.unavailable, "the database \(database.place) takes no step: \(error)")
        }
        await store.close()
    }

    /// Makes the change, between two entries.
    func make(_ event: AuditEvent, detail: String, _ commit: () async throws(StoreError) -> Void) async throws {
        let actor = self.server.actor
        do {
            let begun = try await self.audit.append(event, by: actor, .begun, detail: detail).number
            do throws(StoreError) {
                try await commit()
            } catch {
                let reason = "the database did not commit it"
                let phase: AuditPhase =
                    error == .outcomeUnknown ? .unclear(of: begun, reason: reason) : .failed(of: begun, reason: reason)
                try await self.audit.append(event, by: actor, phase, detail: detail)
                throw StartFailure(.unavailable, "the database did not take the change (\(error)); run it again")
            }
            try await self.audit.append(event, by: actor, .done(of: begun, result: "done"), detail: detail)
        } catch let error as AuditLogError {
            throw StartFailure(error)
        }
    }
}
