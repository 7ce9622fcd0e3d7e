package import AuditLog
package import Vocabulary

/// The backups that an audit log records.
package struct BackupHistory: Sendable {
    /// The time when the newest completed backup was recorded.
    package private(set) var lastMade: Timestamp?
    /// The time of the newest failure and its reason, or nil if a backup was completed since.
    package private(set) var failure: (at: Timestamp, reason: String)?

    package init() {}

    /// The result in the entry with which a running server records that copying has begun; a later entry records the
    /// end.
    private static let begun = "begun"

    /// Processes the log's next entry.
    package mutating func read(_ entry: AuditEntry) {
        guard entry.record.event == .backup else { return }
        switch entry.record.phase {
        case .begun, .done(_, Self.begun): break
        case .done: (self.lastMade, self.failure) = (entry.record.at, nil)
        case .failed(_, let reason), .unclear(_, let reason): self.failure = (entry.record.at, reason)
        }
    }
}
