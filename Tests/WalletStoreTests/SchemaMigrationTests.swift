import SQLiteClient
import PINPolicy
import TestSupport
import Testing

@testable import WalletStore

@Suite("Migrations of a store's file")
struct SchemaMigrationTests {
    private let folder = TemporaryFolder()
    /// A schema with two migrations after the present one.
    private let next = Schema(
        migrations: Schema.current.migrations + [
            "CREATE TABLE notes (wallet INTEGER PRIMARY KEY, note TEXT NOT NULL); INSERT INTO notes VALUES (1, 'a')",
            "ALTER TABLE notes ADD COLUMN at INTEGER",
        ]
    )

    /// Lends the closed store's file.
    private func inFile<Result>(_ body: (SQLiteDatabase) throws -> Result) throws -> Result {
        let database = try Schema.open(self.folder.file("wallets.db"))
        let result = try body(database)
        database.close()
        return result
    }

    private func version() throws -> Int? { try self.inFile { try $0.number("PRAGMA user_version").map { Int($0) } } }

    @Test("a store of an earlier version is migrated once, step by step, and keeps its contents")
    func migrated() async throws {
        let store = try self.folder.store()
        let wallet = try await TestWallet(in: store)
        _ = try await store.judge(wallet.attempt(right: false))
        await store.close()
        let old = Schema.current.version
        #expect(old == 1 && self.next.version == 3)
        #expect(try self.inFile { try self.next.migrate($0, creating: false) } == old)
        #expect(try self.inFile { try self.next.migrate($0, creating: false) } == nil)
        try self.inFile { db in
            #expect(try db.run("SELECT note FROM notes WHERE at IS NULL").first?.text(0) == "a")
            let connection = try StoreConnection(db, key: .test)
            #expect(try connection.attempted(wallet.id)?.wallet.attempts?.record.failures == 1)
        }
        #expect(throws: StoreOpenError.newerVersion(found: 3, known: old)) { try self.folder.store() }
    }

    @Test("after a migration, records are widened in steps between judged PINs, also if a step was cut off by a kill")
    func widened() async throws {
        let store = try self.folder.store()
        var wallets: [TestWallet] = []
        for _ in 0..<3 { wallets.append(try await TestWallet(in: store)) }
        for wallet in wallets { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        await store.close()
        let ids = wallets.map(\.id)
        let attempts = try [true, false, false].map { right in try wallets.map { try $0.attempt(right: right) } }
        try self.inFile { db in
            try self.next.migrate(db, creating: false)
            let connection = try StoreConnection(db, key: .wide)
            let writer = BatchWriter(connection: connection, onFatal: { fatalError("\($0)") })
            func run(_ steps: [@Sendable (StoreConnection) throws -> Void]) {
                writer.run(
                    steps.map { step in
                        CommitQueue.PendingStep(
                            run: { connection in
                                try step(connection)
                                return {}
                            },
                            refuse: { Issue.record("\($0)") }
                        )
                    }
                )
            }
            run([
                { _ = try $0.step(attempts[1][0]) }, { try RewriteRecords(Array(ids[..<2])).run(in: $0) },
                { _ = try $0.step(attempts[1][1]) }, { _ = try $0.step(attempts[2][0]) },
            ])
            #expect(try self.records(in: connection).map(\.width) == [86, 86, 62])
            try connection.begin()
            try RewriteRecords(ids).run(in: connection)
            _ = try connection.step(attempts[0][2])
        }
        try self.inFile { db in
            let connection = try StoreConnection(db, key: .wide)
            #expect(try self.records(in: connection).map(\.width) == [86, 86, 62])
            #expect(try self.records(in: connection).map(\.failures) == [3, 2, 1])
            try RewriteRecords(ids).run(in: connection)
            #expect(try self.records(in: connection).map(\.width) == [86, 86, 86])
            #expect(try self.records(in: connection).map(\.failures) == [3, 2, 1])
        }
    }

    private func records(in connection: StoreConnection) throws -> [(width: Int, failures: Int?)] {
        try connection.records(.next(after: nil, limit: 9)).wallets.map { record in
            (record.whole?.attempts.count ?? 0, record.whole?.attempts(by: connection.key)?.record.failures)
        }
    }

    @Test("a migration that fails leaves the store in the version before it, and the next opening continues there")
    func failed() async throws {
        let store = try self.folder.store()
        // Both register at the same time.
        for _ in 0..<2 { _ = try await TestWallet(in: store) }
        await store.close()
        let unique = "CREATE UNIQUE INDEX wallets_by_time ON wallets (registered_at)"
        let failing = Schema(migrations: Array(self.next.migrations.prefix(2)) + [unique])
        #expect(throws: SQLiteFailure.self) { try self.inFile { try failing.migrate($0, creating: false) } }
        #expect(try self.version() == 2)
        #expect(try self.inFile { try self.next.migrate($0, creating: false) } == 2)
        #expect(try self.version() == 3)
    }

    @Test("a store of an earlier version is compared with the schema of that version, before it is migrated")
    func compared() async throws {
        await (try self.folder.store()).close()
        try self.inFile { try $0.execute("CREATE TABLE notes (entry TEXT)") }
        #expect(throws: StoreOpenError.otherSchema(["table notes is unknown"])) {
            try self.inFile { try self.next.migrate($0, creating: false) }
        }
        #expect(try self.version() == Schema.current.version)
    }
}
