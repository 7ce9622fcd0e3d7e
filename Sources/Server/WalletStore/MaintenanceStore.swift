package import PINPolicy
package import Vocabulary

/// An epoch that a restore opened.
package struct StoredEpoch: Hashable, Sendable {
    /// From 2 on; the first epoch has no record.
    package var number: Int
    package var rule: EpochRule
    package var openedAt: Timestamp
    /// The vault's MAC over the record and its predecessor's MAC.
    package var mac: [UInt8]

    package init(number: Int, rule: EpochRule, openedAt: Timestamp, mac: [UInt8]) {
        self.number = number
        self.rule = rule
        self.openedAt = openedAt
        self.mac = mac
    }
}

/// An entry of the audit log, as the store keeps it.
package struct StoredAuditMark: Hashable, Sendable {
    package var number: UInt64
    /// The entry's MAC, as the log writes it.
    package var mac: String

    package init(number: UInt64, mac: String) {
        self.number = number
        self.mac = mac
    }
}

/// The progress of a copy.
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

/// The reason why a store was not copied.
package enum StoreCopyError: Error, Hashable, Sendable {
    /// Another copy is in progress; wait for it.
    case busy
    /// The store is closing.
    case closing
    /// The copy's disk is full.
    case diskFull
    /// The copy would lie in the store's own folder; name another one.
    case inStoreFolder
    /// The store cannot be read: its file or disk is damaged. Contains SQLite's code by name. Keep the existing
    /// backups.
    case unreadable(String)
    /// The copy's file cannot be written, or SQLite failed otherwise; its code by name.
    case failed(String)
}

/// Operations on a whole store, in small steps between those of wallets.
///
/// Separate from ``WalletStore`` because no call of a wallet needs them.
package protocol MaintenanceStore: Sendable {
    /// Returns the newest entry of the audit log at the last change on record, or nil before the first.
    func auditMark() async throws(StoreError) -> StoredAuditMark?

    /// Stores the announced newest entry of the audit log now.
    func keepAuditMark() async throws(StoreError)

    /// Returns the wallets among these that have not ended.
    func inUse(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID]

    /// Returns the wallets among these that are in use and not blocked permanently.
    func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID]

    /// Returns every epoch except the first.
    func epochs() async throws(StoreError) -> [StoredEpoch]

    /// Appends epochs; used by a restore before the server accepts clients.
    func open(_ epochs: [StoredEpoch]) async throws(StoreError)

    /// Checks the whole file, which takes as long as reading it; not while wallets are served.
    func inspect() async throws(StoreError) -> StoreInspection

    /// Returns the sealed values of at most `limit` wallets in the order of registration, after place `after` or
    /// from the first one; fewer only at the end.
    func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet]

    /// Replaces sealed values with newly sealed ones; skips wallets whose values have changed in between.
    func replace(_ values: [SealedReplacement]) async throws(StoreError)

    /// Searches at most `most` wallets of a store from an older server for ended ones, continuing after the last
    /// search; returns whether more may follow. Only wallets found here, or ended since, are purgeable.
    func findEarlierEnds(lookingAt most: Int) async throws(StoreError) -> Bool

    /// Looks at `most` ended wallets, after place `after` or from the first one, and returns those that ended before
    /// `limit`.
    func purgeable(
        after: UInt64?,
        lookingAt most: Int,
        endedBefore limit: Timestamp
    ) async throws(StoreError) -> Purgeable

    /// Removes wallets that ended before `limit`, except the data of their deletion codes; returns their number.
    func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int

    /// Blocks wallets permanently that an audit log records as blocked; returns the number of those that were not.
    ///
    /// Ignores unknown wallets, those that have ended and those with a damaged record. Used by a restore.
    func blockPermanently(_ wallets: [WalletID]) async throws(StoreError) -> Int

    /// Returns the vault key versions that have sealed, in ascending order.
    func vaultVersions() async throws(StoreError) -> [StoredVaultVersion]

    /// Records that a vault key version seals, with the check value of its key, if it is new; returns all known
    /// versions in ascending order.
    func note(vaultVersion version: UInt32, check: [UInt8], at now: Timestamp) async throws(StoreError)
        -> [StoredVaultVersion]

    /// Records that no value is sealed by an older version any longer; nil removes that record.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError)

    func walletCount() async throws(StoreError) -> Int

    /// Begins to replace the shares of all present wallets; a refresh in progress begins again.
    func beginShareRefresh(at now: Timestamp) async throws(StoreError)

    /// Returns at most `limit` of the wallets that the refresh in progress has not reached, or nil if none is in
    /// progress.
    func walletsToRefresh(limit: Int) async throws(StoreError) -> [RefreshableWallet]?

    /// Stores next shares, except for wallets that have ended meanwhile, and the progress up to the last of these
    /// wallets; an empty list ends the refresh.
    func offer(_ shares: [OfferedShares]) async throws(StoreError)

    /// Returns the number of wallets that have not confirmed all their next shares.
    func unconfirmedShares() async throws(StoreError) -> Int

    /// Returns whether the attempt records have MACs of this store's key.
    func recordMACs() async throws(StoreError) -> RecordMACs

    /// Gives the attempt records of an earlier server version a MAC, if the store's records have none; returns their
    /// number.
    ///
    /// The records are trusted as they are. So the caller must have checked that the vault is the store's, and that
    /// the records never had MACs before: an attacker who can write the database can also make it look like an
    /// earlier version's.
    func adoptRecords() async throws(StoreError) -> Int

    /// Checks the attempt records of at most `most` wallets, after place `after` or from the first one.
    func checkRecords(after: UInt64?, most: Int) async throws(StoreError) -> RecordCheck

    /// Begins to copy the store into an existing empty file.
    ///
    /// One copy at a time; ``endCopy()`` must follow.
    func beginCopy(to path: String) async throws(StoreCopyError)

    /// Copies at most `pages` pages. At its end, the copy equals the store at that time.
    func stepCopy(pages: Int) async throws(StoreCopyError) -> StoreCopyProgress

    /// Closes the copy's file; throws if the copy is incomplete.
    func endCopy() async throws(StoreCopyError)
}

/// Permanently blocked wallets whose block may be missing from the audit log.
package struct UnrecordedBlocks: Hashable, Sendable {
    package var wallets: [WalletID]
    /// The place to continue after; nil at the end.
    package var next: UInt64?

    package init(wallets: [WalletID], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// Wallets that may be removed.
package struct Purgeable: Hashable, Sendable {
    package var wallets: [WalletID]
    /// The place to continue after; nil at the end.
    package var next: UInt64?

    package init(wallets: [WalletID], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// The MACs of a store's attempt records.
package enum RecordMACs: Hashable, Sendable {
    /// Made with the key that the store was opened with.
    case present
    case ofAnotherKey
    /// The records are those of an earlier server version, or the store was altered.
    case missing
}

/// The result of checking some attempt records.
package struct RecordCheck: Hashable, Sendable {
    /// Wallets in use whose record is missing, or is not one that this server wrote.
    package var damaged: [WalletID]
    /// The place to continue after; nil at the end.
    package var next: UInt64?

    package init(damaged: [WalletID], next: UInt64?) {
        self.damaged = damaged
        self.next = next
    }
}

/// The store's record of a vault key version.
package struct StoredVaultVersion: Hashable, Sendable {
    package var version: UInt32
    /// The time when it first sealed.
    package var activeSince: Timestamp
    /// The time when a pass over every wallet found no value sealed by an older version; nil until then.
    package var sealedAnewAt: Timestamp?
    /// The check value that identifies its key, or nil if an earlier server version made the record.
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
    /// SQLite's descriptions of damage; empty for an intact file.
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
    /// The number that had ended before.
    package var before: Int
    package var unknown: Int

    package init(ended: Int = 0, before: Int = 0, unknown: Int = 0) {
        self.ended = ended
        self.before = before
        self.unknown = unknown
    }
}

/// All values that the vault sealed for one wallet.
package struct SealedValues: Hashable, Sendable {
    package var identity: Sealed
    /// Nil if the wallet has ended: its shares and deletion code are destroyed.
    package var shares: Shares?

    package struct Shares: Hashable, Sendable {
        package var unlock: Sealed
        package var presence: Sealed
        /// Nil if the wallet has none.
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
    /// Its place in the order of registration.
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

/// The sealed shares that replace a wallet's current ones; each is nil once confirmed, or if there is none.
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
    /// Its place in the order of registration.
    package var place: UInt64
    package var walletID: WalletID
    /// Indicates that its shares have been destroyed.
    package var hasEnded: Bool
}

/// The next shares of a wallet that a refresh has reached.
package struct OfferedShares: Hashable, Sendable {
    /// Its place in the order of registration.
    package var place: UInt64
    package var walletID: WalletID
    /// Nil if the wallet has ended.
    package var next: NextShares?

    package init(place: UInt64, walletID: WalletID, next: NextShares?) {
        self.place = place
        self.walletID = walletID
        self.next = next
    }
}
