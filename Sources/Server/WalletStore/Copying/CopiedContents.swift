internal import GRDB
import PINPolicy
internal import Secrets
package import Vocabulary

/// A page of wallets to copy.
package struct CopiedPage: Sendable {
    package var wallets: [WholeWallet] = []
    /// The wallets that cannot be copied because a value is missing or was not written by a server of this store.
    package var damaged: [WalletID] = []
    /// The cursor to continue after, or nil at the end.
    package var next: UInt64?
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

    /// The list's table, whose columns are the key and, if the list has times, the time.
    package var table: SideTable {
        switch self {
        case .deniedRecoveryCodes: .deniedRecoveryCodes
        case .barredHardwareKeys: .barredHardwareKeys
        case .purgedCodes: .purgedCodes
        }
    }

    package var hasTimes: Bool { self.table.columns.count > 1 }

    /// The statement that reads the entries after a key, up to a number of them.
    fileprivate var page: SideStatement {
        .read(self.table, where: (self.table.columns[0], .isAbove), isLimited: true)
    }
}

/// A list entry.
package struct CopiedEntry: Hashable, Sendable {
    package var key: [UInt8]
    /// The time of the entry, or zero if the list has no times.
    package var at: Timestamp
}

/// Facts that concern the whole store.
package struct CopiedFacts: Hashable, Sendable {
    package var isSolutionRevoked: Bool
    package var operatorValues: OperatorValues
    package var epochs: [StoredEpoch]
    package var vaultVersions: [StoredVaultVersion]
    /// The share refresh in progress, if any.
    package var refresh: ShareRefresh?
}

package struct FactsToCopy: StoreStep {
    package static let access = StepAccess.reading

    package init() {}

    package func run(in rows: some Rows) throws -> CopiedFacts {
        var values = try ReadOperatorValues().run(in: rows)
        values.values[StoreConnection.movedTo] = nil
        return CopiedFacts(
            isSolutionRevoked: rows.facts.isSolutionRevoked,
            operatorValues: values,
            epochs: try StoredEpochs().run(in: rows),
            vaultVersions: try rows.vaultVersions(),
            refresh: try rows.shareRefresh()
        )
    }
}

/// Returns the next entries of a list in key order.
package struct EntriesToCopy: StoreStep {
    let list: CopiedList
    let after: [UInt8]?
    let limit: Int
    package static let access = StepAccess.reading

    package init(of list: CopiedList, after: [UInt8]?, limit: Int) {
        (self.list, self.after, self.limit) = (list, after, limit)
    }

    package func run(in rows: some Rows) throws -> [CopiedEntry] {
        let page = try rows.query(self.list.page, [.bytes(self.after ?? []), .number(Int64(self.limit))])
        return try page.map { entry in
            let time = self.list.hasTimes ? try entry.time(1) : Timestamp(milliseconds: 0)
            return CopiedEntry(key: try entry.bytes(0), at: time)
        }
    }
}

package struct WalletsToCopy: StoreStep {
    let after: UInt64?
    let limit: Int
    package static let access = StepAccess.reading

    package init(after: UInt64?, limit: Int) { (self.after, self.limit) = (after, limit) }

    /// Invariant (G3): a record is copied only if a server of this store wrote it for this wallet.
    ///
    /// The bytes are copied unchanged, with the MAC that the server wrote.
    package func run(in rows: some Rows) throws -> CopiedPage {
        let page = try rows.records(.next(after: self.after, limit: self.limit))
        var copied = CopiedPage(next: page.next)
        for record in page.wallets {
            guard var whole = record.whole, whole.attested != nil,
                (try? whole.row.state.missing(of: rows.facts.charges)) != nil
            else {
                copied.damaged.append(record.id)
                continue
            }
            if whole.attempts(by: rows.key) == nil {
                guard whole.row.state.revocation != nil else {
                    copied.damaged.append(record.id)
                    continue
                }
                // The PINs of an ended wallet are never judged, so zeros do no harm.
                whole.attempts = [UInt8](repeating: 0, count: KeptAttempts.byteCount)
            }
            copied.wallets.append(whole)
        }
        return copied
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

    package mutating func add(_ wallet: WholeWallet) {
        var fields = Fields()
        fields.add(wallet.row.key.number)
        for value in [
            wallet.id.bytes, wallet.attempts, wallet.row.state.encoded(), wallet.row.pinKeyID.bytes,
            wallet.row.unlockShare, wallet.row.identity, wallet.row.presenceShare, wallet.row.deletionCode,
            wallet.row.recoveryMAC, wallet.row.hardwareKey.bytes,
        ] { fields.add(value) }
        for value in [wallet.next.unlock, wallet.next.presence, wallet.deletionDigest] { fields.add(value) }
        fields.add(wallet.registeredAt.milliseconds)
        fields.add(wallet.attested.map { Array($0.utf8) })
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

/// Marks a store that was moved into another kind of store.
///
/// Invariant (G3): a store that was moved is never served again, because its counts are those at the time of the copy.
/// It is marked by the file's application id, which every server reads before it opens the file.
extension StoreConnection {
    /// The operator value that names the copy this store was moved to.
    ///
    /// It is not copied itself.
    static let movedTo = "store.moved-to"

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

extension SQLiteWalletStore {
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
