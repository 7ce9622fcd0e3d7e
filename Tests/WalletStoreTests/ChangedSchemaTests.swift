import Foundation
import SQLiteClient
import HostSystem
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("A store whose database another program changed")
struct ChangedSchemaTests {
    private let folder = TemporaryFolder()
    private var path: String { self.folder.file("wallets.db") }

    private static let undo = """
        CREATE TRIGGER undo AFTER UPDATE ON attempts
        BEGIN UPDATE attempts SET record = old.record WHERE wallet = new.wallet; END
        """

    /// Replaces a part of an object's statement in the file.
    private static func edit(_ name: String, _ old: String, _ new: String) -> String {
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, '\(old)', '\(new)') WHERE name = '\(name)';
        """
    }

    @Test(
        "a store with any change of its schema is not opened, and the object is named",
        arguments: [
            (Self.undo, "trigger undo on attempts is unknown"),
            (
                "CREATE TRIGGER block BEFORE UPDATE ON wallets BEGIN SELECT RAISE(IGNORE); END",
                "trigger block on wallets is unknown"
            ),
            ("CREATE VIEW counts AS SELECT * FROM attempts", "view counts is unknown"),
            (
                """
                ALTER TABLE attempts RENAME TO kept; CREATE VIEW attempts AS SELECT * FROM kept;
                CREATE TRIGGER write INSTEAD OF UPDATE ON attempts BEGIN SELECT 1; END
                """,
                "trigger write on attempts is unknown; view attempts is unknown; table attempts is missing"
            ),
            ("CREATE VIRTUAL TABLE words USING fts5(word)", "table words is unknown"),
            ("CREATE TABLE diary (entry TEXT)", "table diary is unknown"),
            ("CREATE INDEX ended_at ON ended (at)", "index ended_at on ended is unknown"),
            ("CREATE INDEX states ON wallets (hex(state)) WHERE key > 1", "index states on wallets is unknown"),
            ("DROP INDEX wallets_by_id", "index wallets_by_id on wallets is missing"),
            ("ANALYZE", "table sqlite_stat1 is unknown"),
            (
                "CREATE TABLE a (n INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE a",
                "table sqlite_sequence is unknown"
            ),
            ("ALTER TABLE solution ADD COLUMN note TEXT DEFAULT 'x'", "table solution is changed"),
            ("ALTER TABLE attempts ADD COLUMN copy BLOB AS (record)", "table attempts is changed"),
            (Self.edit("solution", "CHECK (id = 1)", ""), "table solution is changed"),
            (
                Self.edit("operator_values", "value TEXT", "value TEXT COLLATE NOCASE"),
                "table operator_values is changed"
            ),
            (Self.edit("attempts", "record BLOB", "record BLOB DEFAULT x''00''"), "table attempts is changed"),
            (
                Self.edit("wallets_by_deletion_digest", "IS NOT NULL", "IS NULL"),
                "index wallets_by_deletion_digest on wallets is changed"
            ),
        ]
    )
    func changes(sql: String, named: String) async throws {
        let store = try self.folder.store()
        _ = try await TestWallet(in: store)
        await store.close()
        #expect(StoreFile.schemaDifferences(in: self.path) == [])
        try self.change(sql)
        let error = #expect(throws: StoreOpenError.self) { try self.folder.store() }
        guard case .otherSchema(let differences)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.joined(separator: "; ").contains(named), "\(differences)")
        #expect(StoreFile.schemaDifferences(in: self.path) == differences, "as the doctor and a backup see it")
    }

    @Test("a trigger that is made while the store is open does not run, so each attempt is counted")
    func noTriggers() async throws {
        let store = try self.folder.store()
        let wallet = try await TestWallet(in: store)
        try await store.queue.perform { try $0.db.execute(Self.undo) }
        for left in [3, 2, 1] {
            let verdict = PINVerdict.wrong(.open(attemptsLeft: left, finalRound: false))
            try await #expect(store.outcome(of: wallet.attempt(right: false)) == .notValid(verdict))
        }
        await store.close()
    }

    @Test("a connection reads no view, and cannot write to the schema's table or change its version")
    func hardened() throws {
        let db = try Schema.open()
        try Schema.current.migrate(db, creating: true)
        try db.execute("CREATE VIEW counts AS SELECT * FROM attempts")
        #expect(throws: SQLiteFailure.self) { try db.run("SELECT * FROM counts") }
        let before = try SchemaEntry.all(in: db)
        let sql = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'x' WHERE name = 'attempts'"
        #expect(throws: SQLiteFailure.self) { try db.execute(sql) }
        #expect(try SchemaEntry.all(in: db) == before)
    }

    @Test("an object that appears while the store is open ends the process at the hourly check, before a verdict")
    func whileOpen() async {
        await #expect(processExitsWith: .exitCode(71)) {
            let db = try SQLiteDatabase()
            try Schema.current.migrate(db, creating: true)
            let connection = try StoreConnection(db, key: .test)
            let writer = BatchWriter(
                connection: connection,
                onFatal: { exit($0.description.contains("table diary is unknown") && !$0.isDiskFull ? 71 : 1) }
            )
            func run(answer: @escaping @Sendable () -> Void) {
                writer.run([CommitQueue.PendingStep(run: { _ in answer }, refuse: { _ in exit(1) })])
            }
            try db.execute("CREATE TABLE diary (entry TEXT)")
            run {}
            connection.nextSchemaCheck = .now
            run { exit(1) }
        }
    }

    @Test("a staged store with another schema is not restored")
    func staged() async throws {
        let store = try self.folder.store()
        await store.close()
        try self.change(Self.undo)
        let target = TemporaryFolder()
        let staged = try StagedStore(folder: target.path)
        let pages = try DurableFile.read(self.path, atMost: 1 << 24)
        try DurableFile.remove(staged.file)
        try DurableFile.write(pages, to: staged.file)
        #expect(throws: StoreOpenError.otherSchema(["trigger undo on attempts is unknown"])) {
            try staged.open(key: .test)
        }
        staged.abandon()
    }

    /// Changes the closed store, as another program does.
    private func change(_ sql: String) throws {
        let database = try SQLiteDatabase(self.path)
        try database.execute(sql)
        database.close()
    }
}
