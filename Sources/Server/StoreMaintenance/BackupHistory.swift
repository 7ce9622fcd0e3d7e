package import AuditLog
package import Vocabulary

/// The backups recorded in an audit log.
package struct BackupHistory: Sendable {
    /// The time at which the newest completed backup was recorded.
    package private(set) var lastMade: Timestamp?
    /// The time and reason of the newest failure, or nil if a backup has been completed since.
    package private(set) var failure: (at: Timestamp, reason: String)?

    package init() {}

    /// The result that a running server records when copying begins.
    ///
    /// Another entry records the end.
    private static let begun = "begun"

    /// Processes the next log entry.
    package mutating func read(_ entry: AuditEntry) {
        guard entry.record.event == .backup else { return }
        switch entry.record.phase {
        case .begun, .done(_, Self.begun): break
        case .done: (self.lastMade, self.failure) = (entry.record.at, nil)
        case .failed(_, let reason), .unclear(_, let reason): self.failure = (entry.record.at, reason)
        }
    }
}
