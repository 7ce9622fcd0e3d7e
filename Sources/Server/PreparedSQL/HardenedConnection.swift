internal import CSQLiteSettings
package import GRDB
internal import GRDBSQLite

/// The settings of a connection that make it ignore programs in the database's file.
///
/// Threat (G3, G4): a file that was altered once may contain a trigger that undoes every count in the transaction that
/// writes it. Every connection that reads a store's tables has these settings before its first statement. Temporary
/// triggers, which a connection makes for itself, still run.
package enum HardenedConnection {
    /// - Throws: `DatabaseError`.
    package static func harden(_ database: Database) throws {
        let code = unsafe Self.harden(database.sqliteConnection)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Returns SQLite's result code.
    static func harden(_ connection: OpaquePointer?) -> Int32 { unsafe sqlite_settings_harden(connection) }
}
