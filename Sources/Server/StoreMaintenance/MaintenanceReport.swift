package import Vocabulary

/// The progress of work on the store as a whole.
package struct MaintenanceReport: Hashable, Sendable {
    /// The store's epoch, from 1 on.
    package var epoch: Int
    /// The newest backup and the newest resealing since the start of the process.
    package var backup: BackupProgress?
    package var reseal: ResealProgress?
    /// The newest refresh of shares since the start of the process.
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
    /// 0 until the first pages are copied.
    package var pages = 0
    /// The file's length once the backup is done.
    package var byteCount = 0
    /// The moment whose state the backup holds, or nil until it is done.
    package var takenAt: Timestamp?
    /// The reason for a failure.
    package var problem: String?
}

/// The progress of resealing the values of older key versions.
package struct ResealProgress: Codable, Hashable, Sendable {
    /// The key version that seals now.
    package var version: UInt32
    /// A failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason for a failure.
    package var problem: String?
}

/// The progress of making next shares for all wallets.
package struct ShareRefreshProgress: Codable, Hashable, Sendable {
    /// A failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason for a failure.
    package var problem: String?
}

/// A version of the vault's keys and the values that it seals.
package struct VaultKeyUsage: Hashable, Sendable {
    package var version: UInt32
    /// True if the version seals new values.
    package var isActive: Bool
    /// The number of stored values that it sealed.
    package var values: Int
    /// Nil if unknown.
    package var activeSince: Timestamp?
    /// True if only older backups still need the version.
    package var isRetirable: Bool
}

/// A request that ``Maintenance`` rejected; the sentence names the reason and the next step.
///
/// Requests also throw the errors of the store and the vault.
package enum MaintenanceFailure: Error, Hashable, Sendable {
    /// Nothing was done.
    case notAllowed(String)
    /// The key file could not be read or written, so the change may have been made.
    case unavailable(String)
}
