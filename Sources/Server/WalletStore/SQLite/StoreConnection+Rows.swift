internal import Foundation
internal import GRDB
internal import PreparedSQL
import Vocabulary

/// A wallet's row, with the parts that were read with it.
struct HeldRow: HeldWallet, Sendable {
    let id: WalletID
    var wallet: StoredWallet
    /// The attempts as stored; empty if they were not read.
    var onFile: [UInt8] = []
}

/// The rows of an SQLite database, which one connection writes.
///
/// The transaction itself is the lock of each wallet.
extension StoreConnection: Rows {
    func hold(_ wallet: WalletID, with parts: WalletParts) throws -> HeldRow? {
        guard var held = try parts.contains(.attempts) ? self.withAttempts(wallet) : self.withoutAttempts(wallet) else {
            return nil
        }
        if parts.contains(.nextShares) { held.wallet.next = try self.nextShares(of: held.wallet.row.key) }
        return held
    }

    private func withoutAttempts(_ wallet: WalletID) throws -> HeldRow? {
        try self.wallet(wallet).map {
            HeldRow(id: wallet, wallet: StoredWallet(row: $0, attempts: nil, next: NextShares()))
        }
    }

    /// Damaged attempts are nil.
    private func withAttempts(_ wallet: WalletID) throws -> HeldRow? {
        let statement = self.statements.withAttempts
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { found in
            let onFile = found.bytes(WalletRow.columnCount) ?? []
            let attempts = KeptAttempts(decoding: onFile, of: wallet, by: self.key)
            let stored = StoredWallet(row: try WalletRow(found), attempts: attempts, next: NextShares())
            return HeldRow(id: wallet, wallet: stored, onFile: onFile)
        }
    }

    func keep(_ held: HeldRow, _ parts: WalletParts) throws {
        let wallet = held.wallet
        if parts.contains(.attempts), let attempts = wallet.attempts {
            try self.keep(
                Attempted(row: JudgedRow(wallet.row), attempts: attempts, onFile: held.onFile),
                of: held.id
            )
        }
        // The row comes after the attempts: it makes ``KnownWallets`` forget the one that these were kept with.
        if parts.contains(.row) { try self.keep(wallet.row) }
        if parts.contains(.nextShares) { try self.keep(wallet.next, of: wallet.row.key) }
    }

    func remove(_ wallets: [HeldRow]) throws { try self.remove(wallets.map(\.wallet.row.key)) }

    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID? {
        try self.db.makeStatement(sql: "SELECT id FROM wallets WHERE deletion_digest = ?")
            .first([digest.blob]) { try $0.identifier(0) }
    }

    /// Steps of a single connection run one after the other.
    func lock(recoveryCode mac: [UInt8]) {}

    /// Only servers that share a store compare it with each other's logs.
    func note(reversal name: String) {}

    func operatorRevision() throws -> Int64? {
        try Int64.fetchOne(self.db, sql: "SELECT revision FROM operator_revision")
    }

    func raiseOperatorRevision() throws {
        try self.db.execute(sql: "UPDATE operator_revision SET revision = revision + 1")
    }

    /// No other server uses the store.
    func requireKeyAtServers(_ version: UInt32, check: [UInt8]) {}

    func vaultVersionsHaveChanged() throws { try self.readReceiptVersion() }

    /// SQLite takes `$1` as the name of a parameter.
    func query(_ statement: String, _ values: [ColumnValue]) throws -> [Row] {
        let named = values.enumerated().map { ("\($0.offset + 1)", $0.element.databaseValue) }
        return try Row.fetchAll(
            self.db,
            sql: statement,
            arguments: StatementArguments(Dictionary(uniqueKeysWithValues: named))
        )
    }

    func noteAudited() throws { try self.keepAuditMark() }
}

extension Row: StoredColumns {
    package func numberIfAny(_ column: Int) -> Int64? { Int64.fromDatabaseValue(self[column]) }

    package func textIfAny(_ column: Int) -> String? { String.fromDatabaseValue(self[column]) }

    package func bytesIfAny(_ column: Int) throws -> [UInt8]? {
        try self.withUnsafeData(atIndex: column) { data in data.map { [UInt8]($0) } }
    }

    func walletState(_ column: Int) throws -> WalletState {
        guard let state = WalletState(decoding: try self.bytes(column)) else { throw StoreError.corrupt }
        return state
    }
}

extension ColumnValue {
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .number(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): bytes.blob
        }
    }
}

extension SQLiteWalletStore {
    package func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        try await self.queue.perform { try step.run(in: $0) }
    }
}
