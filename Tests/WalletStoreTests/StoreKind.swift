import PostgreSQLStore
import TestSupport
import WalletStore

/// The stores that follow the same rules.
enum StoreKind: String, CaseIterable, Sendable {
    case sqlite
    case postgreSQL

    /// Returns a place with an empty store.
    func place() async throws -> StorePlace {
        switch self {
        case .sqlite: .sqlite(TemporaryFolder())
        case .postgreSQL: .postgreSQL(try await PostgreSQLPlace())
        }
    }
}

/// A place whose store can be closed and opened again.
enum StorePlace: Sendable {
    case sqlite(TemporaryFolder)
    case postgreSQL(PostgreSQLPlace)

    func open() async throws -> any WalletStore & MaintenanceStore {
        switch self {
        case .sqlite(let folder): try folder.store()
        case .postgreSQL(let place): try await place.open()
        }
    }
}

extension WalletStore {
    func close() async {
        switch self {
        case let store as SQLiteWalletStore: await store.close()
        case let store as PostgreSQLWalletStore: await store.close()
        default: break
        }
    }
}

extension WalletStore {
    /// Judges an attempt whose receipt is not needed.
    func judge(_ attempt: Attempt) async throws(StoreError) -> AttemptOutcome {
        try await self.certify(attempt).outcome
    }
}
