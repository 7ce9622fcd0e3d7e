package import PINPolicy
package import Vocabulary

/// An epoch that a restore opened.
package struct StoredEpoch: Hashable, Sendable {
    /// From 2 on; the first epoch has no record.
    package var number: Int
    package var rule: EpochRule
    package var openedAt: Timestamp
    /// The vault's, over the record and its predecessor's.
    package var mac: [UInt8]

    package init(number: Int, rule: EpochRule, openedAt: Timestamp, mac: [UInt8]) {
        self.number = number
        self.rule = rule
        self.openedAt = openedAt
        self.mac = mac
    }
}

/// How far a copy has come.
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

/// Why a store was not copied.
package enum StoreCopyError: Error, Hashable, Sendable {
    /// Another copy is being made; wait for it.
    case busy
    /// The store is closing.
    case closing
    /// The copy's disk is full.
    case diskFull
    /// The store cannot be read: its file or its disk is damaged; SQLite's code. Keep the backups there are.
    case unreadable(code: Int)
    /// The copy's file cannot be written, or another failure of SQLite's; its code.
    case failed(code: Int)
}

/// What is done to a store as a whole, in small steps between those of wallets.
///
/// Apart from ``WalletStore`` because no call of a wallet needs any of it.
package protocol MaintenanceStore: Sendable {
    /// Every epoch but the first.
    func epochs() async throws(StoreError) -> [StoredEpoch]

    /// Opens epochs, each behind the last one: for a restore, before anybody is served.
    func open(_ epochs: [StoredEpoch]) async throws(StoreError)

    /// Looks at the whole file, which takes as long as reading it: not while wallets are served.
    func inspect() async throws(StoreError) -> StoreInspection

    /// What the vault sealed for at most `limit` wallets in the order of their registration, from the first one or from
    /// the one behind the place `after` on; fewer only at the end.
    func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet]

    /// Puts values that were sealed anew in the places of the old ones; wallets that have others by now are passed over.
    func replace(_ values: [SealedReplacement]) async throws(StoreError)

    /// Looks at most at so many wallets of a store that an older server kept for those that have ended, from where the last
    /// look ended; returns whether there may be more. Only those that were found, or ended since, are purgeable.
    func findEarlierEnds(lookingAt most: Int) async throws(StoreError) -> Bool

    /// Those that ended before `limit`, of `most` wallets that have ended, from the first one or from the one behind the
    /// place `after` on.
    func purgeable(
        after: UInt64?,
        lookingAt most: Int,
        endedBefore limit: Timestamp
    ) async throws(StoreError) -> Purgeable

    /// Removes those that ended before `limit`, but for what their deletion codes need; says how many.
    func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int

    /// The versions of the vault's keys that have sealed, ascending.
    func vaultVersions() async throws(StoreError) -> [StoredVaultVersion]

    /// Notes that a version of the vault's keys seals, and what its key is recognized by, if that is new; all that are
    /// known, ascending.
    func note(vaultVersion version: UInt32, check: [UInt8], at now: Timestamp) async throws(StoreError)
        -> [StoredVaultVersion]

    /// Notes that no value is sealed by an older version any more; nil takes that back.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError)

    func walletCount() async throws(StoreError) -> Int

    /// Begins to copy the store into a file that exists and is empty.
    ///
    /// One copy at a time; ``endCopy()`` must follow.
    func beginCopy(to path: String) async throws(StoreCopyError)

    /// Copies at most so many pages. The copy is, at its end, what the store then is.
    func stepCopy(pages: Int) async throws(StoreCopyError) -> StoreCopyProgress

    /// Lets go of the copy's file; throws where it is not whole.
    func endCopy() async throws(StoreCopyError)
}

/// Wallets that may be removed.
package struct Purgeable: Hashable, Sendable {
    package var wallets: [WalletID]
    /// The place behind which to go on; nil at the end.
    package var next: UInt64?

    package init(wallets: [WalletID], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }
}

/// What a store knows of a version of the vault's keys.
package struct StoredVaultVersion: Hashable, Sendable {
    package var version: UInt32
    /// When it was first seen to seal.
    package var activeSince: Timestamp
    /// When a look at every wallet found nothing that an older one sealed; nil until then.
    package var sealedAnewAt: Timestamp?
    /// What its key is recognized by; nil where an earlier version of the server noted it.
    package var check: [UInt8]?

    package init(version: UInt32, activeSince: Timestamp, sealedAnewAt: Timestamp?, check: [UInt8]?) {
        self.version = version
        self.activeSince = activeSince
        self.sealedAnewAt = sealedAnewAt
        self.check = check
    }
}

/// What a look at a whole store found.
package struct StoreInspection: Hashable, Sendable {
    /// SQLite's own words for what is damaged; empty for an intact file.
    package var damage: [String]
    /// Tables, indexes and the like that are not as this version makes them: triggers, views, changed definitions.
    package var foreign: [String]
    package var wallets: Int
    /// The latest epoch that a wallet's row names.
    package var latestEpoch: Int

    package init(damage: [String], foreign: [String], wallets: Int, latestEpoch: Int) {
        self.damage = damage
        self.foreign = foreign
        self.wallets = wallets
        self.latestEpoch = latestEpoch
    }
}

/// What became of wallets that were to end.
package struct WalletsEnding: Hashable, Sendable {
    package var ended: Int
    /// Had ended before.
    package var before: Int
    package var unknown: Int

    package init(ended: Int = 0, before: Int = 0, unknown: Int = 0) {
        self.ended = ended
        self.before = before
        self.unknown = unknown
    }
}

/// All that the vault sealed for one wallet.
package struct SealedValues: Hashable, Sendable {
    package var identity: Sealed
    /// Nil where the wallet has ended: its shares are destroyed, and its deletion code.
    package var shares: Shares?

    package struct Shares: Hashable, Sendable {
        package var unlock: Sealed
        package var presence: Sealed
        /// Nil where it has none.
        package var deletionCode: Sealed?

        package init(unlock: Sealed, presence: Sealed, deletionCode: Sealed?) {
            self.unlock = unlock
            self.presence = presence
            self.deletionCode = deletionCode
        }
    }

    package init(identity: Sealed, shares: Shares?) {
        self.identity = identity
        self.shares = shares
    }
}

/// A wallet and what is sealed of it.
package struct SealedWallet: Hashable, Sendable {
    /// Where it stands in the order of registration.
    package var place: UInt64
    package var walletID: WalletID
    package var values: SealedValues

    package init(place: UInt64, walletID: WalletID, values: SealedValues) {
        self.place = place
        self.walletID = walletID
        self.values = values
    }
}

/// Sealed values that are to take the place of others; each new one is as long as the old one.
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
