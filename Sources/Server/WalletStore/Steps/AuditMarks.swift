internal import Synchronization

/// An audit log entry as recorded in the store.
package struct StoredAuditMark: Hashable, Sendable {
    package var number: UInt64
    /// The entry's MAC, in the format used by the log.
    package var mac: String

    package init(number: UInt64, mac: String) {
        self.number = number
        self.mac = mac
    }
}

/// The newest audit log entry, as announced by the log's writer.
///
/// Shared with the store's thread.
package final class AnnouncedEntry: Sendable {
    private let newest = Mutex<StoredAuditMark?>(nil)

    package init() {}

    package var mark: StoredAuditMark? {
        get { self.newest.withLock { $0 } }
        set { self.newest.withLock { $0 = newValue } }
    }
}

/// Stores the announced entry.
package struct KeepAuditMark: StoreStep {
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws { try rows.noteAudited() }
}

package struct ReadAuditMark: StoreStep {
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> StoredAuditMark? { try rows.auditMark() }
}

extension WalletStore {
    /// Stores the announced audit log entry without waiting for a change.
    package func keepAuditMark() async throws(StoreError) { try await self.perform(KeepAuditMark()) }

    /// Returns the audit log entry that was the newest at this server's last audited change, or nil before the first
    /// one.
    package func auditMark() async throws(StoreError) -> StoredAuditMark? { try await self.perform(ReadAuditMark()) }
}
