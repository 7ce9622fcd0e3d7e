internal import SQLiteClient
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

/// Facts that concern the whole store.
package struct CopiedFacts: Hashable, Sendable {
    package var isSolutionRevoked: Bool
    package var operatorRevision: Int64
    /// The epochs, which are also rows of a side table.
    package var epochs: [StoredEpoch]
}

package struct FactsToCopy: StoreStep {
    package static let access = StepAccess.reading

    package init() {}

    package func run(in rows: some Rows) throws -> CopiedFacts {
        guard let revision = try rows.operatorRevision() else { throw StoreError.corrupt }
        return CopiedFacts(
            isSolutionRevoked: rows.facts.isSolutionRevoked,
            operatorRevision: revision,
            epochs: try StoredEpochs().run(in: rows)
        )
    }
}

extension SideTable {
    /// The tables whose rows are copied as they are; the others are copied with the wallets.
    package static let copied = SideTable.allCases.filter { $0 != .unopened }
}

/// Returns the next rows of a side table, and the key to continue after, or nil at the end.
package struct RowsToCopy: StoreStep {
    let table: SideTable
    let after: ColumnValue?
    let limit: Int
    package static let access = StepAccess.reading

    package init(of table: SideTable, after: ColumnValue?, limit: Int) {
        (self.table, self.after, self.limit) = (table, after, limit)
    }

    package func run(in rows: some Rows) throws -> (rows: [[ColumnValue]], next: ColumnValue?) {
        let statement = SideStatement.read(self.table, where: (self.table.columns[0], .isAbove), isLimited: true)
        let kinds = self.table.kinds
        let page = try rows.query(statement, [self.after ?? kinds[0].least, .number(Int64(self.limit))]).map { row in
            try kinds.enumerated().map { try row.value($0.offset, $0.element) }
        }
        return (page.filter { $0[0] != .text(StoreConnection.movedTo) }, page.count < self.limit ? nil : page.last?[0])
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
                whole.attempts = [UInt8](repeating: 0, count: KeptAttempts.byteCount(of: rows.key.form))
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
        case row, wallet
    }

    package init() {}

    package var hex: String { self.value.hex }

    package mutating func add(_ facts: CopiedFacts) {
        self.add(.facts, [.number(facts.isSolutionRevoked ? 1 : 0), .number(facts.operatorRevision)])
    }

    package mutating func add(_ row: [ColumnValue], of table: SideTable) {
        self.add(.row, [.text(table.rawValue)] + row)
    }

    package mutating func add(_ wallet: WholeWallet) {
        let row = wallet.row
        let bytes = [
            wallet.id.bytes, wallet.attempts, row.state.encoded(), row.pinKeyID.bytes, row.unlockShare, row.identity,
            row.presenceShare, row.deletionCode, row.recoveryMAC, row.hardwareKey.bytes, wallet.next.unlock,
            wallet.next.presence, wallet.deletionDigest,
        ].map { $0.map { ColumnValue.bytes($0) } ?? .null }
        let times = [wallet.registeredAt, wallet.unopenedSince, wallet.endedAt, wallet.lastSession]
        self.add(
            .wallet,
            [.number(row.key.number)] + bytes + times.map { ColumnValue($0) }
                + [wallet.attested.map { .text($0) } ?? .null, .number(wallet.isBlockRecorded ? 1 : 0)]
        )
        self.wallets += 1
    }

    /// Hashes values in an unambiguous encoding: each begins with its kind and, unless it is a number, its length.
    private mutating func add(_ part: Part, _ values: [ColumnValue]) {
        var bytes = self.value
        func append(_ kind: UInt8, _ field: [UInt8]) {
            bytes.append(kind)
            bytes.append(bigEndian: UInt64(field.count), byteCount: 8)
            bytes += field
        }
        for value in values {
            switch value {
            case .null: bytes.append(0)
            case .number(let number):
                bytes.append(1)
                bytes.append(bigEndian: UInt64(bitPattern: number), byteCount: 8)
            case .text(let text): append(2, Array(text.utf8))
            case .bytes(let field): append(3, field)
            }
        }
        self.value.removeAll(keepingCapacity: true)
        self.value.appendSHA256(of: part.rawValue, bytes[...])
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
        let id = try self.db.number("PRAGMA application_id")
        guard id == Schema.movedID else { return nil }
        let values = try ReadOperatorValues().run(in: self).values
        guard let copy = values[Self.movedTo]?.text else { throw StoreError.corrupt }
        return copy
    }

    func noteMoved(to copy: String) throws {
        try self.set(Self.movedTo, to: OperatorValues.Value(copy, setAt: Timestamp(milliseconds: 0)))
        try self.db.execute("PRAGMA application_id = \(Schema.movedID)")
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
