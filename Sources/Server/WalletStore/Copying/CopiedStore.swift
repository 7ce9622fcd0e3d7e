package import Vocabulary

/// A store whose contents can be read page by page, to copy them into a different kind of store.
package protocol CopiedStore: Sendable {
    /// Returns the facts that concern the whole store.
    func copiedFacts() async throws(StoreError) -> CopiedFacts

    /// Returns up to `limit` entries of a list in key order, starting after the key `after` or with the first one.
    ///
    /// Returns fewer only at the end.
    func copiedEntries(of list: CopiedList, after: [UInt8]?, limit: Int) async throws(StoreError) -> [CopiedEntry]

    /// Returns up to `limit` wallets in order of registration, starting after the cursor `after` or with the first one.
    func copiedWallets(after: Int64?, limit: Int) async throws(StoreError) -> CopiedPage

    func walletCount() async throws(StoreError) -> Int
}

/// A page of wallets to copy.
package struct CopiedPage: Hashable, Sendable {
    package var wallets: [CopiedWallet]
    /// The wallets that cannot be copied because a value is missing or was not written by a server of this store.
    package var damaged: [WalletID]
    /// The cursor to continue after, or nil at the end.
    package var next: Int64?

    package init(wallets: [CopiedWallet], damaged: [WalletID], next: Int64?) {
        self.wallets = wallets
        self.damaged = damaged
        self.next = next
    }
}

/// A list in a store that does not belong to a single wallet.
package enum CopiedList: UInt8, CaseIterable, Sendable {
    /// The MACs of denied recovery codes, each with the time at which it was denied.
    case deniedRecoveryCodes = 1
    /// The digests of hardware keys that are not allowed to register again.
    ///
    /// These entries have no time.
    case barredHardwareKeys
    /// The digests of purged wallets' deletion codes, each with the time of the revocation.
    case purgedCodes
}

/// A list entry.
package struct CopiedEntry: Hashable, Sendable {
    package var key: [UInt8]
    /// The time of the entry, or zero if the list has no times.
    package var at: Timestamp

    package init(key: [UInt8], at: Timestamp) {
        self.key = key
        self.at = at
    }
}

/// Facts that concern the whole store.
package struct CopiedFacts: Hashable, Sendable {
    package var isSolutionRevoked: Bool
    package var operatorValues: OperatorValues
    package var epochs: [StoredEpoch]
    package var vaultVersions: [StoredVaultVersion]
    /// The share refresh in progress, if any.
    package var refresh: Refresh?

    package struct Refresh: Hashable, Sendable {
        package var begunAt: Timestamp
        /// The cursor after which the refresh will continue.
        package var cursor: Int64
        package var last: Int64

        package init(begunAt: Timestamp, cursor: Int64, last: Int64) {
            self.begunAt = begunAt
            self.cursor = cursor
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

/// All data about a wallet in a store.
package struct CopiedWallet: Hashable, Sendable {
    package var id: WalletID
    /// The encoded attempts with their MAC.
    ///
    /// All zeros if they are damaged and the wallet has ended.
    package var attempts: [UInt8]
    package var row: WalletRow
    package var next: NextShares
    package var deletionDigest: [UInt8]?
    package var registeredAt: Timestamp
    /// The attested facts as a JSON object.
    package var attested: String
    /// The start of the period for the first session, or nil once the store has noticed that session.
    package var unopenedSince: Timestamp?
    package var endedAt: Timestamp?
    package var lastSession: Timestamp?
    /// Whether the audit log contains the wallet's permanent block.
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

    /// Returns the stored attempts in the form to copy, or nil if they are damaged and the wallet is in use.
    ///
    /// Invariant (G3): a record is copied only if a server of this store wrote it for this wallet. The bytes are copied
    /// unchanged, with the MAC that the server wrote.
    package static func attempts(
        _ stored: [UInt8]?,
        of wallet: WalletID,
        in state: WalletState,
        by key: RecordKey
    ) -> [UInt8]? {
        if let stored, KeptAttempts(decoding: stored, of: wallet, by: key) != nil { return stored }
        // The PINs of an ended wallet are never judged, so zeros do no harm.
        return state.revocation == nil ? nil : [UInt8](repeating: 0, count: KeptAttempts.byteCount)
    }
}
