package import Vocabulary

/// The progress of work on the whole store.
package struct MaintenanceReport: Hashable, Sendable {
    /// The store's epoch, which starts at 1.
    package var epoch: Int
    /// The newest backup since the process started, and the newest resealing.
    package var backup: BackupProgress?
    package var reseal: ResealProgress?
    /// The newest share refresh since the process started.
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
    /// The total number of pages, or 0 until the first ones have been copied.
    package var pages = 0
    /// The size of the file, once the backup is done.
    package var byteCount = 0
    /// The point in time that the backup reflects, or nil until it is done.
    package var takenAt: Timestamp?
    /// The reason, if the task failed.
    package var problem: String?
}

/// The progress of resealing values that were sealed with older key versions.
package struct ResealProgress: Codable, Hashable, Sendable {
    /// The currently active key version.
    package var version: UInt32
    /// The state of the task.
    ///
    /// A failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason, if the task failed.
    package var problem: String?
}

/// The progress of creating next shares for all wallets.
package struct ShareRefreshProgress: Codable, Hashable, Sendable {
    /// The state of the task.
    ///
    /// A failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason, if the task failed.
    package var problem: String?
}

/// A vault key version and how it is used.
package struct VaultKeyUsage: Hashable, Sendable {
    package var version: UInt32
    /// Whether the version seals new values.
    package var isActive: Bool
    /// The number of stored values sealed with the version.
    package var values: Int
    /// The time at which the version became active, or nil if unknown.
    package var activeSince: Timestamp?
    /// Whether the version is needed only for older backups.
    package var isRetirable: Bool
}

/// A request rejected by ``Maintenance``.
///
/// The text contains the reason and the next step. Requests can also throw store and vault errors.
package enum MaintenanceFailure: Error, Hashable, Sendable {
    /// The operation is not allowed and was not begun.
    case notAllowed(String)
    /// The key file could not be read or written, so the change may have been made.
    case unavailable(String)
}
