package import PostgreSQLClient
package import Vocabulary
package import WalletStore

/// The statements on the rows of a wallet.
package enum WalletStatement: Sendable {
    /// A table with rows of wallets, from which a removed wallet's are deleted.
    package enum Table: String, CaseIterable, Sendable {
        case unopened, ended
        case lastSessions = "last_sessions"
        case recordedBlocks = "recorded_blocks"
        case values = "wallet_values"
        case records = "wallets"
    }

    /// Locks a wallet's narrow row until the commit, and returns its id.
    case lock(WalletID)
    /// Returns ``StoredValues/columns``.
    case read([WalletID])
    /// Replaces a narrow row, and returns the new one.
    case keepRecord(WalletID, [UInt8], replacing: [UInt8])
    /// Replaces a wide row's ``StoredValues/wideColumns``.
    case keepValues(WalletID, wide: [PostgreSQLValue])
    case addRecord(WalletID, [UInt8])
    /// Adds a wide row, and returns its place.
    case addValues(wide: [PostgreSQLValue], NewRegistration)
    case noteEnd(WalletID, at: Timestamp)
    /// Deletes the wallets' rows from one table.
    case delete(Table, [WalletID])
    case noteRecordedBlocks([WalletID])
    case keepLastSession(WalletID, at: Timestamp)
    /// Takes the lock of a recovery code until the commit.
    case lockCode([UInt8])

    var sql: (text: String, values: [PostgreSQLValue]) {
        switch self {
        case .lock(let id): ("select id from wallets where id = $1 for no key update", [.bytes(id.bytes)])
        case .read(let ids): (Self.reading, [.byteArrays(ids.map(\.bytes))])
        case .keepRecord(let id, let new, let old):
            (
                "update wallets set record = $2 where id = $1 and record = $3 returning record",
                [.bytes(id.bytes), .bytes(new), .bytes(old)]
            )
        case .keepValues(let id, let wide): (Self.replacement, [.bytes(id.bytes)] + wide)
        case .addRecord(let id, let record):
            ("insert into wallets (id, record) values ($1, $2)", [.bytes(id.bytes), .bytes(record)])
        case .addValues(let wide, let registration):
            (Self.addition, [.bytes(registration.walletID.bytes)] + wide + registration.columns)
        case .noteEnd(let id, let time): (Self.end, [.bytes(id.bytes), .number(time.milliseconds)])
        case .delete(let table, let ids): (table.deletion, [.byteArrays(ids.map(\.bytes))])
        case .noteRecordedBlocks(let ids):
            (
                "insert into recorded_blocks (id) select id from wallets where id = any($1) on conflict do nothing",
                [.byteArrays(ids.map(\.bytes))]
            )
        case .keepLastSession(let id, let time): (Self.session, [.bytes(id.bytes), .number(time.milliseconds)])
        case .lockCode(let mac):
            (
                "select pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), $2))",
                [.bytes(mac), .number(Self.codeLocks)]
            )
        }
    }

    /// The class of the advisory locks of recovery codes.
    private static let codeLocks: Int64 = 0x7250_494E

    private static let reading = "select \(StoredValues.columns) from \(StoredValues.tables) where w.id = any($1)"
    private static let wide = StoredValues.wideColumns.map(\.name)
    private static let replacement = {
        let changes = Self.wide.enumerated().map { "\($1) = $\($0 + 2)" }.joined(separator: ", ")
        return "update wallet_values set \(changes) where id = $1"
    }()
    private static let addition = {
        let columns = ["id"] + Self.wide + ["deletion_digest", "registered_at", "attested"]
        let values = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        return "insert into wallet_values (\(columns.joined(separator: ", "))) values (\(values)) returning place"
    }()
    private static let end = """
        insert into ended (place, id, at) select place, id, $2 from wallet_values where id = $1 on conflict do nothing
        """
    private static let session = """
        insert into last_sessions (id, at) select id, $2 from wallets where id = $1
        on conflict (id) do update set at = greatest(last_sessions.at, excluded.at)
        """
}

extension WalletStatement.Table {
    fileprivate var deletion: String {
        switch self {
        case .unopened, .ended:
            "delete from \(self.rawValue) where place in (select place from wallet_values where id = any($1))"
        case .lastSessions, .recordedBlocks, .values, .records: "delete from \(self.rawValue) where id = any($1)"
        }
    }
}

extension NewRegistration {
    /// The columns of a wide row that never change.
    fileprivate var columns: [PostgreSQLValue] {
        [
            PostgreSQLValue(self.deletionCode?.digest.bytes), .number(self.now.milliseconds), .text(self.attested),
        ]
    }
}
