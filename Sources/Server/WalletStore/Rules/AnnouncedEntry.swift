internal import Synchronization

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
