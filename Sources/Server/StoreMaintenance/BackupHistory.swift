package import AuditLog
package import Vocabulary

/// The backups on record in an audit log.
package struct BackupHistory: Sendable {
    /// The time of the newest backup that was completed.
    package private(set) var lastMade: Timestamp?
    /// The time and reason of the newest failure, if no backup was completed since.
    package private(set) var failure: (at: Timestamp, reason: String)?

    package init() {}

    /// The result of an entry with which a running server records that the copying has begun; the end is another
    /// entry.
    private static let begun = "begun"

    /// Reads the log's next entry.
    package mutating func read(_ entry: AuditEntry) {
        guard entry.record.event == .backup else { return }
        switch entry.record.phase {
        case .begun, .done(_, Self.begun): break
        case .done: (self.lastMade, self.failure) = (entry.record.at, nil)
        case .failed(_, let reason), .unclear(_, let reason): self.failure = (entry.record.at, reason)
        }
    }
}
