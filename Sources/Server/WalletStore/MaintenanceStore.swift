package import PINPolicy
package import Vocabulary

/// An epoch that was opened by a restore.
package struct StoredEpoch: Hashable, Sendable {
    /// The number of the epoch, at least 2 because the first epoch has no record.
    package var number: Int
    package var rule: EpochRule
    package var openedAt: Timestamp
    /// The vault's MAC over this record and the MAC of the previous record.
    package var mac: [UInt8]

    package init(number: Int, rule: EpochRule, openedAt: Timestamp, mac: [UInt8]) {
        self.number = number
        self.rule = rule
        self.openedAt = openedAt
        self.mac = mac
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

/// The progress of copying a store.
package struct StoreCopyProgress: Hashable, Sendable {
    package var pages: Int
    package var copied: Int
    package var isWhole: Bool
}

/// A reason why a store was not copied.
package enum StoreCopyError: Error, Hashable, Sendable {
    /// Another copy is in progress.
    ///
    /// Wait for it to finish.
    case busy
    /// The store is closing.
    case closing
    /// The disk that the copy is written to is full.
    case diskFull
    /// The copy would be in the store's own folder.
    ///
    /// Choose a different one.
    case inStoreFolder
    /// The store cannot be read because its file or disk is damaged.
    ///
    /// Keep the existing backups. The associated value is the name of SQLite's error code.
    case unreadable(String)
    /// The copy cannot be written, or SQLite failed for another reason.
    ///
    /// The associated value is the name of SQLite's error code.
    case failed(String)
}

/// Operations on a whole store, divided into small steps that run between those for wallets.
///
/// They are separate from ``WalletStore`` because no wallet call needs them. A store in a file can also be inspected
/// and copied as a whole (``SQLiteWalletStore``).
package protocol MaintenanceStore: Sendable {
    /// Announces the newest entry in this server's audit log.
    ///
    /// The next audited change stores it.
    func announce(_ newest: StoredAuditMark)

    /// Returns the audit log entry that was the newest at this server's last audited change, or nil before the first
    /// one.
    func auditMark() async throws(StoreError) -> StoredAuditMark?

    /// Stores the announced audit log entry without waiting for a change.
    func keepAuditMark() async throws(StoreError)

    /// Returns the given wallets that have not ended.
    func inUse(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID]

    /// Returns the given wallets that are in use and not permanently blocked.
    func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID]

    /// Returns every epoch except the first.
    func epochs() async throws(StoreError) -> [StoredEpoch]

    /// Appends epochs.
    ///
    /// A restore calls this before the server accepts clients.
    func open(_ epochs: [StoredEpoch]) async throws(StoreError)

    /// Returns the sealed values of up to `limit` wallets in order of registration, starting after place `after` or
    /// with the first one.
    ///
    /// Returns fewer only at the end.
    func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet]

    /// Replaces sealed values with newly sealed ones.
    ///
    /// Wallets whose values have changed in the meantime are skipped.
    func replace(_ values: [SealedReplacement]) async throws(StoreError)

    /// Searches up to `most` wallets for ones that ended in a store written by an older server, continuing after the
    /// last search.
    ///
    /// Returns whether there may be more. A wallet can only be purged if such a search found it or if it ended later.
    func findEarlierEnds(lookingAt most: Int) async throws(StoreError) -> Bool

    /// Examines `most` ended wallets, starting after place `after` or with the first one.
    ///
    /// Returns those that ended before `limit`.
    func purgeable(
        after: UInt64?,
        lookingAt most: Int,
        endedBefore limit: Timestamp
    ) async throws(StoreError) -> Purgeable

    /// Removes wallets that ended before `limit`, keeping only the data of their deletion codes.
    ///
    /// Returns the number of removed wallets.
    func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int

    /// Permanently blocks the wallets that an audit log records as blocked.
    ///
    /// Returns the number of newly blocked wallets. Ignores wallets that are unknown, have ended or have a damaged
    /// record. Used by a restore.
    func blockPermanently(_ wallets: [WalletID]) async throws(StoreError) -> Int

    /// Returns the vault key versions that have sealed values, in ascending order.
    func vaultVersions() async throws(StoreError) -> [StoredVaultVersion]

    /// Records that a vault key version seals values, along with the check value of its key.
    ///
    /// Does nothing if the version is known. Returns all known versions in ascending order.
    func note(vaultVersion version: UInt32, check: [UInt8], at now: Timestamp) async throws(StoreError)
        -> [StoredVaultVersion]

    /// Records that no value is sealed with an older version anymore.
    ///
    /// If `now` is nil, removes that record.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError)

    func walletCount() async throws(StoreError) -> Int

    /// Starts replacing the shares of all existing wallets.
    ///
    /// A refresh in progress starts over.
    func beginShareRefresh(at now: Timestamp) async throws(StoreError)

    /// Returns up to `limit` wallets that the current refresh has not reached, or nil if no refresh is in progress.
    func walletsToRefresh(limit: Int) async throws(StoreError) -> [RefreshableWallet]?

    /// Stores next shares, skipping wallets that have ended, and records the progress up to the last of these wallets.
    ///
    /// An empty list ends the refresh.
    func offer(_ shares: [OfferedShares]) async throws(StoreError)

    /// Returns the number of wallets that have not yet confirmed all their next shares.
    func unconfirmedShares() async throws(StoreError) -> Int

    /// Returns whether the attempt records have MACs made with this store's key.
    func recordMACs() async throws(StoreError) -> RecordMACs

    /// Checks the attempt records of up to `most` wallets, starting after place `after` or with the first one.
    ///
    /// The SQLite store throws ``StoreError/corrupt`` if it may hide wallets, because its rows are out of order or an
    /// index does not lead to one of them.
    func checkRecords(after: UInt64?, most: Int) async throws(StoreError) -> RecordCheck
}

/// Permanently blocked wallets whose block may be missing from the audit log.
package struct UnrecordedBlocks: Hashable, Sendable {
    package var wallets: [WalletID]
    /// The place to continue after, or nil at the end.
    package var next: UInt64?

    package init(wallets: [WalletID], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// Wallets that can be removed.
package struct Purgeable: Hashable, Sendable {
    package var wallets: [WalletID]
    /// The place to continue after, or nil at the end.
    package var next: UInt64?

    package init(wallets: [WalletID], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// The state of the MACs in a store's attempt records.
package enum RecordMACs: Hashable, Sendable {
    /// The MACs were made with the key that the store was opened with.
    case present
    case ofAnotherKey
    /// The records were written by an earlier server version, or the store was altered.
    case missing
}

/// The result of checking a number of attempt records.
package struct RecordCheck: Hashable, Sendable {
    /// The wallets in use whose record is missing or was not written by this server.
    package var damaged: [WalletID]
    /// The place to continue after, or nil at the end.
    package var next: UInt64?

    package init(damaged: [WalletID], next: UInt64?) {
        self.damaged = damaged
        self.next = next
    }
}

/// A vault key version as recorded in the store.
package struct StoredVaultVersion: Hashable, Sendable {
    package var version: UInt32
    /// The time at which the version first sealed a value.
    package var activeSince: Timestamp
    /// The time at which a pass over every wallet found no value sealed with an older version, or nil until then.
    package var sealedAnewAt: Timestamp?
    /// The check value that identifies the version's key, or nil if an earlier server version wrote the record.
    package var check: [UInt8]?

    package init(version: UInt32, activeSince: Timestamp, sealedAnewAt: Timestamp?, check: [UInt8]?) {
        self.version = version
        self.activeSince = activeSince
        self.sealedAnewAt = sealedAnewAt
        self.check = check
    }
}

/// The result of checking a whole store.
package struct StoreInspection: Hashable, Sendable {
    /// The damage reported by SQLite, empty if the file is intact.
    package var damage: [String]
    /// Schema objects that this version does not create, such as triggers, views or changed definitions.
    package var foreign: [String]
    package var wallets: Int
    /// The latest epoch named in any wallet's row.
    package var latestEpoch: Int
}

/// The outcome of ending wallets.
package struct WalletsEnding: Hashable, Sendable {
    package var ended: Int
    /// The number of wallets that had already ended.
    package var before: Int
    package var unknown: Int

    package init(ended: Int = 0, before: Int = 0, unknown: Int = 0) {
        self.ended = ended
        self.before = before
        self.unknown = unknown
    }
}

/// All values sealed by the vault for one wallet.
package struct SealedValues: Hashable, Sendable {
    package var identity: Sealed
    /// The shares and the deletion code.
    ///
    /// Nil if the wallet has ended, because they are then destroyed.
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
    package var place: UInt64
    package var walletID: WalletID
    package var values: SealedValues

    package init(place: UInt64, walletID: WalletID, values: SealedValues) {
        self.place = place
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

/// The sealed shares that will replace a wallet's current ones.
///
/// Each is nil if it does not exist or has been confirmed.
package struct NextShares: Hashable, Sendable {
    package var unlock: Sealed?
    package var presence: Sealed?

    package init(unlock: Sealed? = nil, presence: Sealed? = nil) {
        self.unlock = unlock
        self.presence = presence
    }

    var isEmpty: Bool { self.unlock == nil && self.presence == nil }
}

/// A wallet whose shares are replaced by a refresh.
package struct RefreshableWallet: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var place: UInt64
    package var walletID: WalletID
    /// Whether the wallet has ended, in which case its shares are destroyed.
    package var hasEnded: Bool

    package init(place: UInt64, walletID: WalletID, hasEnded: Bool) {
        self.place = place
        self.walletID = walletID
        self.hasEnded = hasEnded
    }
}

/// The next shares of a wallet that a refresh has reached.
package struct OfferedShares: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var place: UInt64
    package var walletID: WalletID
    /// The next shares, or nil if the wallet has ended.
    package var next: NextShares?

    package init(place: UInt64, walletID: WalletID, next: NextShares?) {
        self.place = place
        self.walletID = walletID
        self.next = next
    }
}
