import DictionaryStore
import SQLiteClient
import PostgreSQLClient
import PostgreSQLStore
import TestSupport
import WalletStore

/// The stores that follow the same rules.
enum StoreKind: String, CaseIterable, Sendable {
    case sqlite
    case postgreSQL
    case dictionary

    /// Returns a place with an empty store.
    func place() async throws -> StorePlace {
        switch self {
        case .sqlite: .sqlite(TemporaryFolder())
        case .postgreSQL: .postgreSQL(try await PostgreSQLPlace())
        case .dictionary: .dictionary(DictionaryStore.Contents())
        }
    }
}

/// A place whose store can be closed and opened again.
enum StorePlace: Sendable {
    case sqlite(TemporaryFolder)
    case postgreSQL(PostgreSQLPlace)
    case dictionary(DictionaryStore.Contents)

    func open(by key: RecordKey = .test) async throws -> any ServedStore {
        switch self {
        case .sqlite(let folder): try folder.store(by: key)
        case .postgreSQL(let place): try await place.open(by: key)
        case .dictionary(let contents): DictionaryStore(contents, by: key)
        }
    }

    /// Runs a statement on the database directly.
    ///
    /// A store in a file must be closed. A dictionary has no statements.
    func change(_ sql: String) throws {
        switch self {
        case .sqlite(let folder):
            let database = try SQLiteDatabase(folder.file("wallets.db"))
            try database.execute(sql)
            database.close()
        case .postgreSQL(let place): try place.connect().run(sql)
        case .dictionary: preconditionFailure("a dictionary has no statements")
        }
    }

    /// Returns the number of rows in a table.
    ///
    /// A store in a file must be closed.
    func count(_ table: String) throws -> Int64? {
        let sql = "SELECT count(*) FROM \(table)"
        switch self {
        case .sqlite(let folder):
            let database = try SQLiteDatabase(folder.file("wallets.db"))
            defer { database.close() }
            return try database.number(sql)
        case .postgreSQL(let place): return try place.connect().run(sql).number(0, 0)
        case .dictionary(let contents): return contents.withLock { $0.count(of: table) }
        }
    }
}

extension DictionaryTables {
    fileprivate func count(of table: String) -> Int64? {
        switch table {
        case "wallets": Int64(self.wallets.count)
        case "ended": Int64(self.wallets.values.count { $0.endedAt != nil })
        default: SideTable(rawValue: table).map { Int64(self.sides.count(of: $0)) }
        }
    }
}

extension WalletStore {
    /// Judges an attempt whose receipt is not needed.
    func outcome(of attempt: Attempt) async throws(StoreError) -> AttemptOutcome {
        try await self.judge(attempt).outcome
    }
}
