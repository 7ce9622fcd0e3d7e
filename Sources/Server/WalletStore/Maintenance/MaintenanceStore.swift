internal import Synchronization
package import Vocabulary

/// Operations on a whole store, divided into small steps that run between PIN checks.
///
/// They are separate from ``WalletStore`` because no wallet call needs them. A store in a file can also be inspected
/// and copied as a whole (``SQLiteWalletStore``).
package protocol MaintenanceStore: StepStore {
    /// Announces the newest entry in this server's audit log.
    ///
    /// The next audited change stores it.
    func announce(_ newest: StoredAuditMark)

    /// Returns the audit log entry that was the newest at this server's last audited change, or nil before the first
    /// one.
    func auditMark() async throws(StoreError) -> StoredAuditMark?

    /// The maximum number of wallets that one step removes, so that PIN checks do not wait long.
    var removedAtOnce: Int { get }

    func walletCount() async throws(StoreError) -> Int

    /// Returns the number of wallets that have not yet confirmed all their next shares.
    func unconfirmedShares() async throws(StoreError) -> Int

    /// Returns whether the MACs of the attempt records were made with the key that this store was opened with.
    ///
    /// Throws ``StoreError/corrupt`` if a store with wallets does not name the key of its records.
    func recordKeyFits() async throws(StoreError) -> Bool
}

/// All values sealed by the vault for one wallet.
package struct SealedValues: Hashable, Sendable {
    package var identity: Sealed
    /// The shares and the deletion code; nil if the wallet has ended, because they are then destroyed.
    package var shares: Shares?

    package struct Shares: Hashable, Sendable {
        package var unlock: Sealed
        package var presence: Sealed
        /// The sealed deletion code, or nil if the wallet has none.
        package var deletionCode: Sealed?
        package var next: NextShares

        package init(unlock: Sealed, presence: Sealed, deletionCode: Sealed?, next: NextShares = NextShares()) {
            self.unlock = unlock
            self.presence = presence
            self.deletionCode = deletionCode
            self.next = next
        }
    }

    package init(identity: Sealed, shares: Shares?) {
        self.identity = identity
        self.shares = shares
    }
}

/// A wallet and its sealed values.
package struct SealedWallet: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var cursor: UInt64
    package var walletID: WalletID
    package var values: SealedValues

    package init(cursor: UInt64, walletID: WalletID, values: SealedValues) {
        self.cursor = cursor
        self.walletID = walletID
        self.values = values
    }
}

/// Sealed values to replace others of the same length.
package struct SealedReplacement: Hashable, Sendable {
    package var walletID: WalletID
    package var old: SealedValues
    package var new: SealedValues

    package init(walletID: WalletID, old: SealedValues, new: SealedValues) {
        self.walletID = walletID
        self.old = old
        self.new = new
    }
}

/// A vault key version as recorded in the store.
package struct StoredVaultVersion: Hashable, Sendable {
    package var version: UInt32
    /// The time at which the version first sealed a value.
    package var activeSince: Timestamp
    /// The time at which a pass over every wallet found no value sealed with an older version, or nil until then.
    package var sealedAnewAt: Timestamp?
    /// The check value that identifies the version's key.
    package var check: [UInt8]

    package init(version: UInt32, activeSince: Timestamp, sealedAnewAt: Timestamp?, check: [UInt8]) {
        self.version = version
        self.activeSince = activeSince
        self.sealedAnewAt = sealedAnewAt
        self.check = check
    }
}

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
