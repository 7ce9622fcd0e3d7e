package import Vocabulary

/// A store whose complete contents can be read in pages, to copy them into a store of another kind.
package protocol CopiedStore: Sendable {
    /// Returns the facts about the whole store.
    func copiedFacts() async throws(StoreError) -> CopiedFacts

    /// Returns at most `limit` entries of a list, after the one with key `after` or from the first one, in the order
    /// of their keys; fewer only at the end.
    func copiedEntries(of list: CopiedList, after: [UInt8]?, limit: Int) async throws(StoreError) -> [CopiedEntry]

    /// Returns at most `limit` wallets in the order of registration, after place `after` or from the first one.
    func copiedWallets(after: Int64?, limit: Int) async throws(StoreError) -> CopiedPage

    func walletCount() async throws(StoreError) -> Int
}

/// Wallets that were read for a copy.
package struct CopiedPage: Hashable, Sendable {
    package var wallets: [CopiedWallet]
    /// Wallets that cannot be copied because a value is missing or was not written by a server of this store.
    package var damaged: [WalletID]
    /// The place after which to continue, or nil at the end.
    package var next: Int64?

    package init(wallets: [CopiedWallet], damaged: [WalletID], next: Int64?) {
        self.wallets = wallets
        self.damaged = damaged
        self.next = next
    }
}

/// A list of a store that belongs to no wallet.
package enum CopiedList: UInt8, CaseIterable, Sendable {
    /// The MACs of denied recovery codes, each with the time of its denial.
    case deniedRecoveryCodes = 1
    /// The digests of hardware keys that may not register again; they have no time.
    case barredHardwareKeys
    /// The digests of the deletion codes of purged wallets, each with the time of the revocation.
    case purgedCodes
}

/// An entry of a list.
package struct CopiedEntry: Hashable, Sendable {
    package var key: [UInt8]
    /// The entry's time; zero in a list without times.
    package var at: Timestamp

    package init(key: [UInt8], at: Timestamp) {
        self.key = key
        self.at = at
    }
}

/// The facts about a whole store.
package struct CopiedFacts: Hashable, Sendable {
    package var isSolutionRevoked: Bool
    package var operatorValues: OperatorValues
    package var epochs: [StoredEpoch]
    package var vaultVersions: [StoredVaultVersion]
    /// The refresh of shares in progress, if any.
    package var refresh: Refresh?

    package struct Refresh: Hashable, Sendable {
        package var begunAt: Timestamp
        /// The place after which the refresh continues.
        package var place: Int64
        package var last: Int64

        package init(begunAt: Timestamp, place: Int64, last: Int64) {
            self.begunAt = begunAt
            self.place = place
            self.last = last
        }
    }

    package init(
        isSolutionRevoked: Bool,
        operatorValues: OperatorValues,
        epochs: [StoredEpoch],
        vaultVersions: [StoredVaultVersion],
        refresh: Refresh?
    ) {
        self.isSolutionRevoked = isSolutionRevoked
        self.operatorValues = operatorValues
        self.epochs = epochs
        self.vaultVersions = vaultVersions
        self.refresh = refresh
    }
}

/// Everything that a store knows about a wallet.
package struct CopiedWallet: Hashable, Sendable {
    package var id: WalletID
    /// The encoded attempts with their MAC; zeros if the wallet has ended and they are damaged.
    package var attempts: [UInt8]
    package var row: WalletRow
    package var next: NextShares
    package var deletionDigest: [UInt8]?
    package var registeredAt: Timestamp
    /// The attested facts, as a JSON object.
    package var attested: String
    /// The beginning of the period for a first session, until the store has noticed that session.
    package var unopenedSince: Timestamp?
    package var endedAt: Timestamp?
    package var lastSession: Timestamp?
    /// Whether the wallet's permanent block is in the audit log.
    package var isBlockRecorded: Bool

    package init(
        id: WalletID,
        attempts: [UInt8],
        row: WalletRow,
        next: NextShares,
        deletionDigest: [UInt8]?,
        registeredAt: Timestamp,
        attested: String,
        unopenedSince: Timestamp?,
        endedAt: Timestamp?,
        lastSession: Timestamp?,
        isBlockRecorded: Bool
    ) {
        self.id = id
        self.attempts = attempts
        self.row = row
        self.next = next
        self.deletionDigest = deletionDigest
        self.registeredAt = registeredAt
        self.attested = attested
        self.unopenedSince = unopenedSince
        self.endedAt = endedAt
        self.lastSession = lastSession
        self.isBlockRecorded = isBlockRecorded
    }

    /// Returns stored attempts in the form that is copied; nil if they are damaged and the wallet is in use.
    ///
    /// Invariant (G3): a record that this store's servers did not write for this wallet is not copied. It is copied as
    /// it is, so that it has the MAC with which they wrote it.
    package static func attempts(
        _ stored: [UInt8]?,
        of wallet: WalletID,
        in state: WalletState,
        by key: RecordKey
    ) -> [UInt8]? {
        if let stored, KeptAttempts(decoding: stored, of: wallet, by: key) != nil { return stored }
        // Its PINs are never judged.
        return state.revocation == nil ? nil : [UInt8](repeating: 0, count: KeptAttempts.byteCount)
    }
}
