package import PINPolicy
package import Vocabulary

/// An epoch that a restore opened.
package struct StoredEpoch: Hashable, Sendable {
    /// The epoch's number, which is at least 2 because the first epoch has no record.
    package var number: Int
    package var rule: EpochRule
    package var openedAt: Timestamp
    /// The vault's MAC over this record and the previous record's MAC.
    package var mac: [UInt8]

    package init(number: Int, rule: EpochRule, openedAt: Timestamp, mac: [UInt8]) {
        self.number = number
        self.rule = rule
        self.openedAt = openedAt
        self.mac = mac
    }
}

/// An entry of the audit log, as recorded in the store.
package struct StoredAuditMark: Hashable, Sendable {
    package var number: UInt64
    /// The entry's MAC, in the form that the log uses.
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

    package init(pages: Int, copied: Int, isWhole: Bool) {
        self.pages = pages
        self.copied = copied
        self.isWhole = isWhole
    }
}

/// A reason why a store was not copied.
package enum StoreCopyError: Error, Hashable, Sendable {
    /// Another copy is in progress; wait for it.
    case busy
    /// The store is closing.
    case closing
    /// The disk that receives the copy is full.
    case diskFull
    /// The copy would be in the store's own folder; choose another one.
    case inStoreFolder
    /// The store cannot be read because its file or disk is damaged; keep the existing backups.
    ///
    /// The value is the name of SQLite's error code.
    case unreadable(String)
    /// The copy cannot be written, or SQLite failed for another reason; the value is the name of its error code.
    case failed(String)
}

/// Operations on a whole store, divided into small steps that run between those of wallets.
///
/// Separate from ``WalletStore`` because no call of a wallet needs them. A store in a file can also be inspected and
/// copied as a whole (``SQLiteWalletStore``).
package protocol MaintenanceStore: Sendable {
    /// Announces the newest entry of this server's audit log; the next change on record stores it.
    func announce(_ newest: StoredAuditMark)

    /// Returns the newest entry of this server's audit log at its last change on record; nil before the first.
    func auditMark() async throws(StoreError) -> StoredAuditMark?

    /// Stores the announced newest entry of the audit log without waiting for a change.
    func keepAuditMark() async throws(StoreError)

    /// Returns those of the given wallets that have not ended.
    func inUse(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID]

    /// Returns those of the given wallets that are in use and not blocked permanently.
    func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID]

    /// Returns every epoch except the first.
    func epochs() async throws(StoreError) -> [StoredEpoch]

    /// Appends epochs; a restore calls this before the server accepts clients.
    func open(_ epochs: [StoredEpoch]) async throws(StoreError)

    /// Returns the sealed values of at most `limit` wallets in the order of registration, after place `after` or
    /// from the first one; fewer only at the end.
    func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet]

    /// Replaces sealed values with newly sealed ones, skipping wallets whose values have changed in between.
    func replace(_ values: [SealedReplacement]) async throws(StoreError)

    /// Searches at most `most` wallets of a store from an older server for ended ones, continuing after the last
    /// search.
    ///
    /// Returns whether more may follow. Only wallets that such a search found, or that ended since, can be purged.
    func findEarlierEnds(lookingAt most: Int) async throws(StoreError) -> Bool

    /// Examines `most` ended wallets, starting after place `after` or with the first one, and returns those that ended
    /// before `limit`.
    func purgeable(
        after: UInt64?,
        lookingAt most: Int,
        endedBefore limit: Timestamp
    ) async throws(StoreError) -> Purgeable

    /// Removes wallets that ended before `limit`, keeping only the data of their deletion codes; returns their number.
    func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int

    /// Permanently blocks the wallets that an audit log records as blocked, and returns how many were not blocked
    /// before.
    ///
    /// Ignores unknown wallets, wallets that have ended and wallets with a damaged record. A restore uses this.
    func blockPermanently(_ wallets: [WalletID]) async throws(StoreError) -> Int

    /// Returns the vault key versions that have sealed values, in ascending order.
    func vaultVersions() async throws(StoreError) -> [StoredVaultVersion]

    /// Records that a vault key version seals values, with the check value of its key, unless the version is known.
    ///
    /// Returns all known versions in ascending order.
    func note(vaultVersion version: UInt32, check: [UInt8], at now: Timestamp) async throws(StoreError)
        -> [StoredVaultVersion]

    /// Records that no value is sealed with an older version any longer, or removes that record if `now` is nil.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError)

    func walletCount() async throws(StoreError) -> Int

    /// Begins to replace the shares of all existing wallets; a refresh that is in progress starts over.
    func beginShareRefresh(at now: Timestamp) async throws(StoreError)

    /// Returns at most `limit` of the wallets that the current refresh has not reached, or nil if no refresh is in
    /// progress.
    func walletsToRefresh(limit: Int) async throws(StoreError) -> [RefreshableWallet]?

    /// Stores next shares, except for wallets that have ended, and the progress up to the last of these wallets.
    ///
    /// An empty list ends the refresh.
    func offer(_ shares: [OfferedShares]) async throws(StoreError)

    /// Returns the number of wallets that have not yet confirmed all their next shares.
    func unconfirmedShares() async throws(StoreError) -> Int

    /// Returns whether the attempt records have MACs made with this store's key.
    func recordMACs() async throws(StoreError) -> RecordMACs

    /// Checks the attempt records of at most `most` wallets, after place `after` or from the first one.
    func checkRecords(after: UInt64?, most: Int) async throws(StoreError) -> RecordCheck
}

/// Permanently blocked wallets whose block may be missing from the audit log.
package struct UnrecordedBlocks: Hashable, Sendable {
    package var wallets: [WalletID]
    /// The place after which to continue, or nil at the end.
    package var next: UInt64?

    package init(wallets: [WalletID], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// Wallets that may be removed.
package struct Purgeable: Hashable, Sendable {
    package var wallets: [WalletID]
    /// The place after which to continue, or nil at the end.
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
    /// The records come from an earlier server version, or the store was altered.
    case missing
}

/// The result of checking some attempt records.
package struct RecordCheck: Hashable, Sendable {
    /// Wallets in use whose record is missing or was not written by this server.
    package var damaged: [WalletID]
    /// The place after which to continue, or nil at the end.
    package var next: UInt64?

    package init(damaged: [WalletID], next: UInt64?) {
        self.damaged = damaged
        self.next = next
    }
}

/// The store's record of a vault key version.
package struct StoredVaultVersion: Hashable, Sendable {
    package var version: UInt32
    /// The time when the version first sealed a value.
    package var activeSince: Timestamp
    /// The time when a pass over every wallet found no value sealed with an older version, or nil until then.
    package var sealedAnewAt: Timestamp?
    /// The check value that identifies the version's key, or nil if an earlier server version made the record.
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
    /// SQLite's descriptions of the damage; empty if the file is intact.
    package var damage: [String]
    /// Schema objects that this version does not create: triggers, views, changed definitions.
    package var foreign: [String]
    package var wallets: Int
    /// The latest epoch in any wallet's row.
    package var latestEpoch: Int

    package init(damage: [String], foreign: [String], wallets: Int, latestEpoch: Int) {
        self.damage = damage
        self.foreign = foreign
        self.wallets = wallets
        self.latestEpoch = latestEpoch
    }
}

/// The outcome of ending wallets.
package struct WalletsEnding: Hashable, Sendable {
    package var ended: Int
    /// The number of wallets that had ended before.
    package var before: Int
    package var unknown: Int

    package init(ended: Int = 0, before: Int = 0, unknown: Int = 0) {
        self.ended = ended
        self.before = before
        self.unknown = unknown
    }
}

/// All values that the vault has sealed for one wallet.
package struct SealedValues: Hashable, Sendable {
    package var identity: Sealed
    /// The shares and the deletion code, or nil if the wallet has ended, because they are then destroyed.
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
    /// The wallet's place in the order of registration.
    package var place: UInt64
    package var walletID: WalletID
    package var values: SealedValues

    package init(place: UInt64, walletID: WalletID, values: SealedValues) {
        self.place = place
        self.walletID = walletID
        self.values = values
    }
}

/// Sealed values that replace others of the same length.
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

/// The sealed shares that replace a wallet's current ones; each is nil once it is confirmed, or if there is none.
package struct NextShares: Hashable, Sendable {
    package var unlock: Sealed?
    package var presence: Sealed?

    package init(unlock: Sealed? = nil, presence: Sealed? = nil) {
        self.unlock = unlock
        self.presence = presence
    }

    var isEmpty: Bool { self.unlock == nil && self.presence == nil }
}

/// A wallet whose shares a refresh replaces.
package struct RefreshableWallet: Hashable, Sendable {
    /// The wallet's place in the order of registration.
    package var place: UInt64
    package var walletID: WalletID
    /// Whether the wallet has ended, so that its shares are destroyed.
    package var hasEnded: Bool

    package init(place: UInt64, walletID: WalletID, hasEnded: Bool) {
        self.place = place
        self.walletID = walletID
        self.hasEnded = hasEnded
    }
}

/// The next shares of a wallet that a refresh has reached.
package struct OfferedShares: Hashable, Sendable {
    /// The wallet's place in the order of registration.
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
