internal import GRDB
import PINPolicy
internal import Secrets
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

/// A digest of everything that a copy must contain, along with the number of wallets.
///
/// Each part is hashed together with the digest of the parts before it, so the store never has to be held in memory.
package struct CopyDigest: Hashable, Sendable {
    /// The number of wallets added so far.
    package private(set) var wallets = 0
    private var value = [UInt8](repeating: 0, count: 32)

    private enum Part: UInt8 {
        case facts = 1
        case entry, wallet
    }

    package init() {}

    package var hex: String { self.value.hex }

    package mutating func add(_ facts: CopiedFacts) {
        var fields = Fields()
        fields.add(facts.isSolutionRevoked ? 1 : 0)
        fields.add(facts.operatorValues.revision)
        fields.add(Int64(facts.operatorValues.values.count))
        for (name, value) in facts.operatorValues.values.sorted(by: { $0.key < $1.key }) {
            fields.add(Array(name.utf8))
            fields.add(Array(value.text.utf8))
            fields.add(value.setAt.milliseconds)
        }
        fields.add(Int64(facts.epochs.count))
        for epoch in facts.epochs {
            fields.add(Int64(epoch.number))
            fields.add(Array(epoch.rule.rawValue.utf8))
            fields.add(epoch.openedAt.milliseconds)
            fields.add(epoch.mac)
        }
        fields.add(Int64(facts.vaultVersions.count))
        for version in facts.vaultVersions {
            fields.add(Int64(version.version))
            fields.add(version.activeSince.milliseconds)
            fields.add(version.sealedAnewAt?.milliseconds)
            fields.add(version.check)
        }
        fields.add(facts.refresh?.begunAt.milliseconds)
        fields.add(facts.refresh?.cursor)
        fields.add(facts.refresh?.last)
        self.add(.facts, fields)
    }

    package mutating func add(_ entry: CopiedEntry, of list: CopiedList) {
        var fields = Fields()
        fields.add(Int64(list.rawValue))
        fields.add(entry.key)
        fields.add(entry.at.milliseconds)
        self.add(.entry, fields)
    }

    package mutating func add(_ wallet: CopiedWallet) {
        var fields = Fields()
        fields.add(wallet.row.key.number)
        for value in [
            wallet.id.bytes, wallet.attempts, wallet.row.state.encoded(), wallet.row.pinKeyID.bytes,
            wallet.row.unlockShare, wallet.row.identity, wallet.row.presenceShare, wallet.row.deletionCode,
            wallet.row.recoveryMAC, wallet.row.hardwareKey.bytes,
        ] { fields.add(value) }
        for value in [wallet.next.unlock, wallet.next.presence, wallet.deletionDigest] { fields.add(value) }
        fields.add(wallet.registeredAt.milliseconds)
        fields.add(Array(wallet.attested.utf8))
        for time in [wallet.unopenedSince, wallet.endedAt, wallet.lastSession] { fields.add(time?.milliseconds) }
        fields.add(wallet.isBlockRecorded ? 1 : 0)
        self.add(.wallet, fields)
        self.wallets += 1
    }

    private mutating func add(_ part: Part, _ fields: Fields) {
        let bytes = self.value + fields.bytes
        self.value.removeAll(keepingCapacity: true)
        self.value.appendSHA256(of: part.rawValue, bytes[...])
    }

    /// Encodes values unambiguously: each is written with its length, or marked as missing.
    private struct Fields {
        private(set) var bytes: [UInt8] = []

        mutating func add(_ value: [UInt8]?) {
            self.bytes.append(bigEndian: value.map { UInt64($0.count) + 1 } ?? 0, byteCount: 8)
            if let value { self.bytes += value }
        }

        mutating func add(_ number: Int64?) {
            self.bytes.append(number == nil ? 0 : 1)
            self.bytes.append(bigEndian: UInt64(bitPattern: number ?? 0), byteCount: 8)
        }
    }
}

/// Reads the store's contents for a copy into another kind of store, and marks a store that was moved there.
///
/// Invariant (G3): a store that was moved is never served again, because its counts are those at the time of the copy.
/// It is marked by the file's application id, which every server reads before it opens the file.
extension StoreConnection {
    /// The operator value that names the copy this store was moved to.
    ///
    /// It is not copied itself.
    private static let movedTo = "store.moved-to"

    func copiedFacts() throws -> CopiedFacts {
        var values = try ReadOperatorValues().run(in: self)
        values.values[Self.movedTo] = nil
        let refresh = try Row.fetchOne(self.db, sql: "SELECT begun_at, place, last FROM share_refresh")
        return CopiedFacts(
            isSolutionRevoked: self.facts.isSolutionRevoked,
            operatorValues: values,
            epochs: try self.epochs(),
            vaultVersions: try self.vaultVersions(),
            refresh: try refresh.map { row in
                CopiedFacts.Refresh(
                    begunAt: try row.time(0),
                    cursor: try row.number(1),
                    last: try row.number(2)
                )
            }
        )
    }

    func copiedEntries(of list: CopiedList, after key: [UInt8]?, limit: Int) throws -> [CopiedEntry] {
        let (table, column, at) =
            switch list {
            case .deniedRecoveryCodes: ("denied_recovery_codes", "mac", "denied_at")
            case .barredHardwareKeys: ("barred_hardware_keys", "digest", "0")
            case .purgedCodes: ("purged_codes", "digest", "revoked_at")
            }
        return try Row.fetchAll(
            self.db,
            sql: "SELECT \(column), \(at) FROM \(table) WHERE \(column) > ? ORDER BY \(column) LIMIT ?",
            arguments: [(key ?? []).blob, limit]
        ).map { CopiedEntry(key: try $0.bytes(0), at: try $0.time(1)) }
    }

    func copiedWallets(after cursor: Int64?, limit: Int) throws -> CopiedPage {
        let rows = try Row.fetchAll(
            self.db,
            sql: """
                SELECT w.key, w.state, w.pin_key_id, w.unlock_share, w.identity, w.presence_share, w.deletion_code,
                    w.recovery_mac, w.hardware_key, w.id, record, n.unlock_share, n.presence_share, w.deletion_digest,
                    w.registered_at, attested, u.registered_at, e.at, s.at, b.wallet IS NOT NULL
                FROM wallets w
                LEFT JOIN attempts ON attempts.wallet = w.key
                LEFT JOIN next_shares n ON n.wallet = w.key
                LEFT JOIN attestations ON attestations.wallet = w.key
                LEFT JOIN unopened u ON u.wallet = w.key
                LEFT JOIN ended e ON e.wallet = w.key
                LEFT JOIN last_sessions s ON s.wallet = w.key
                LEFT JOIN recorded_blocks b ON b.wallet = w.key
                WHERE w.key > ? ORDER BY w.key LIMIT ?
                """,
            arguments: [cursor ?? .min, limit]
        )
        var page = CopiedPage(wallets: [], damaged: [], next: nil)
        for row in rows {
            let wallet: WalletID = try row.identifier(9)
            do {
                page.wallets.append(try self.copiedWallet(wallet, in: row))
            } catch StoreError.corrupt {
                page.damaged.append(wallet)
            }
        }
        if rows.count == limit { page.next = try rows.last?.number(0) }
        return page
    }

    private func copiedWallet(_ wallet: WalletID, in row: Row) throws -> CopiedWallet {
        let state = try row.walletState(1)
        let stored = try row.bytesIfAny(10)
        guard let attempts = CopiedWallet.attempts(stored, of: wallet, in: state, by: self.key),
            try row.bytes(7).count == WalletRow.recoveryMACByteCount
        else { throw StoreError.corrupt }
        _ = try state.missing(of: self.facts.charges)
        return CopiedWallet(
            id: wallet,
            attempts: attempts,
            row: WalletRow(
                key: WalletKey(number: try row.number(0)),
                state: state,
                pinKeyID: try row.identifier(2),
                unlockShare: try row.bytes(3),
                identity: try row.bytes(4),
                presenceShare: try row.bytes(5),
                deletionCode: try row.bytes(6),
                recoveryMAC: try row.bytes(7),
                hardwareKey: try row.identifier(8)
            ),
            next: NextShares(unlock: try row.bytesIfAny(11), presence: try row.bytesIfAny(12)),
            deletionDigest: try row.bytesIfAny(13),
            registeredAt: try row.time(14),
            attested: try row.text(15),
            unopenedSince: row.timeIfAny(16),
            endedAt: row.timeIfAny(17),
            lastSession: row.timeIfAny(18),
            isBlockRecorded: try row.number(19) != 0
        )
    }

    /// Returns the copy that the store was moved to, or nil if it was not moved.
    func movedTo() throws -> String? {
        let id = try Int64.fetchOne(self.db, sql: "PRAGMA application_id")
        guard id == Schema.movedID else { return nil }
        let values = try ReadOperatorValues().run(in: self).values
        guard let copy = values[Self.movedTo]?.text else { throw StoreError.corrupt }
        return copy
    }

    func noteMoved(to copy: String) throws {
        try self.db.execute(
            sql: "INSERT OR REPLACE INTO operator_values (name, value, set_at) VALUES (?, ?, 0)",
            arguments: [Self.movedTo, copy]
        )
        try self.db.execute(sql: "PRAGMA application_id = \(Schema.movedID)")
    }
}

extension SQLiteWalletStore: CopiedStore {
    package func copiedFacts() async throws(StoreError) -> CopiedFacts {
        try await self.queue.perform { try $0.copiedFacts() }
    }

    package func copiedEntries(
        of list: CopiedList,
        after: [UInt8]?,
        limit: Int
    ) async throws(StoreError) -> [CopiedEntry] {
        try await self.queue.perform { try $0.copiedEntries(of: list, after: after, limit: limit) }
    }

    package func copiedWallets(after: Int64?, limit: Int) async throws(StoreError) -> CopiedPage {
        try await self.queue.perform { try $0.copiedWallets(after: after, limit: limit) }
    }

    /// Returns the copy that the store was moved to, or nil if it was not moved.
    package func movedTo() async throws(StoreError) -> String? {
        try await self.queue.perform { try $0.movedTo() }
    }

    /// Marks the store as moved to this copy.
    ///
    /// From then on, no server opens it.
    package func noteMoved(to copy: String) async throws(StoreError) {
        try await self.queue.perform { try $0.noteMoved(to: copy) }
    }
}
