package import Vocabulary

/// The progress of work on the whole store.
package struct MaintenanceReport: Hashable, Sendable {
    /// The store's epoch, which starts at 1.
    package var epoch: Int
    /// The newest backup and the newest resealing since the process started.
    package var backup: BackupProgress?
    package var reseal: ResealProgress?
    /// The newest refresh of shares since the process started.
    package var refresh: ShareRefreshProgress?
}

/// The state of a background task.
package enum MaintenanceState: String, Codable, Hashable, Sendable {
    case running
    case done
    case failed
}

/// The progress of a backup.
package struct BackupProgress: Hashable, Sendable {
    package var path: String
    package var state = MaintenanceState.running
    package var pagesCopied = 0
    /// The number of pages, or 0 until the first ones are copied.
    package var pages = 0
    /// The length of the file, once the backup is done.
    package var byteCount = 0
    /// The time whose state the backup contains, or nil until it is done.
    package var takenAt: Timestamp?
    /// The reason for a failure.
    package var problem: String?
}

/// The progress of resealing values that older key versions sealed.
package struct ResealProgress: Codable, Hashable, Sendable {
    /// The key version that is active now.
    package var version: UInt32
    /// The state of the task; a failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason for a failure.
    package var problem: String?
}

/// The progress of creating next shares for all wallets.
package struct ShareRefreshProgress: Codable, Hashable, Sendable {
    /// The state of the task; a failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason for a failure.
    package var problem: String?
}

/// A version of the vault's keys, and how it is used.
package struct VaultKeyUsage: Hashable, Sendable {
    package var version: UInt32
    /// Whether the version seals new values.
    package var isActive: Bool
    /// The number of stored values that the version sealed.
    package var values: Int
    /// The time when the version became active, or nil if it is unknown.
    package var activeSince: Timestamp?
    /// Whether only older backups still need the version.
    package var isRetirable: Bool
}

/// A request that ``Maintenance`` rejected; the sentence states the reason and the next step.
///
/// Requests can also throw the errors of the store and the vault.
package enum MaintenanceFailure: Error, Hashable, Sendable {
    /// Nothing was done.
    case notAllowed(String)
    /// The key file could not be read or written, so the change may have been made.
    case unavailable(String)
}
