import PINPolicy
import PostgreSQLClient
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Upgrades of a store's schema")
struct SchemaUpgradeTests {
    private let place: PostgreSQLPlace
    private let connection: PostgreSQLConnection

    init() async throws {
        self.place = try await PostgreSQLPlace()
        self.connection = try self.place.connect()
    }

    /// A schema with a migration after the present one.
    private static let next = PostgreSQLStore.Schema(
        migrations: PostgreSQLStore.Schema.current.migrations + [
            """
            do $body$ begin
            alter table facts add column later bigint not null default 0;
            create table later (id bigint generated always as identity primary key, at bigint not null);
            create index later_wallets on wallet_values (place);
            end $body$
            """
        ]
    )

    /// The parts of a server of the next version.
    private func nextParts(_ change: (inout StoreParts) throws -> Void = { _ in }) throws -> StoreParts {
        var parts = self.place.parts()
        parts.schema = Self.next
        try change(&parts)
        return parts
    }

    private func foundVersion() throws -> Int64? {
        try Schema.foundVersion(on: self.connection, within: PostgreSQLCluster.longest)
    }

    private func report() async throws -> DatabaseReport {
        let parts = self.place.parts()
        return try await DatabaseReport.read(of: parts.target, for: parts.durability, within: parts.timeLimit)
    }

    @Test("a store of an earlier version is upgraded once, and keeps its wallets")
    func upgrade() async throws {
        let store = try await self.place.open()
        let wallet = try await TestWallet(in: store)
        await store.close()
        let (old, new, parts) = (DatabaseReport.knownSchemaVersion, Self.next.version, try self.nextParts())
        await #expect(throws: PostgreSQLStoreOpenError.otherVersion(found: old, known: new)) {
            _ = try await PostgreSQLWalletStore.open(parts)
        }
        async let one = PostgreSQLWalletStore.migrate(parts)
        async let two = PostgreSQLWalletStore.migrate(parts)
        #expect(try await [one, two].compactMap(\.self) == [old])
        #expect(try self.connection.run("select later from facts").number(0, 0) == 0)
        let upgraded = try await PostgreSQLWalletStore.open(parts)
        try await upgraded.takeLease()
        try await upgraded.recordWipe(of: wallet.id, at: TestWallet.start)
        let lease = try #require(upgraded.lease)
        #expect(try await lease.acknowledgements().acknowledged == ["test"])
        await upgraded.close()
        await #expect(throws: PostgreSQLStoreOpenError.otherVersion(found: new, known: old)) {
            _ = try await self.place.open()
        }
    }

    @Test("servers that are connected during an upgrade continue, and accept what a migration adds, but nothing else")
    func connected() async throws {
        let (one, two) = (try await self.place.open(), try await self.place.open())
        let wallet = try await TestWallet(in: one)
        func attemptsLeft(_ left: Int, at store: PostgreSQLWalletStore) async throws {
            let outcome = try await store.outcome(of: wallet.attempt(right: false))
            #expect(outcome == .notValid(.wrong(.open(attemptsLeft: left, finalRound: false))))
        }
        // Each lane connects with its first step.
        try await attemptsLeft(3, at: one)
        try await attemptsLeft(2, at: two)
        for store in [one, two] { #expect(try await !store.isSolutionRevoked()) }
        // A server of the next version starts.
        #expect(try await PostgreSQLWalletStore.migrate(try self.nextParts()) == DatabaseReport.knownSchemaVersion)
        try await attemptsLeft(1, at: one)
        _ = try await TestWallet(in: one)
        _ = try await two.outcome(of: wallet.attempt(right: true))
        try await attemptsLeft(3, at: one)
        let next = PostgreSQLStoreOpenError.otherVersion(
            found: Self.next.version,
            known: DatabaseReport.knownSchemaVersion
        )
        await #expect(throws: next) { _ = try await self.place.open() }
        try self.connection.run("create rule lose as on update to wallets do instead nothing")
        await #expect(throws: StoreError.self) { try await two.outcome(of: wallet.attempt(right: false)) }
        try self.connection.run("drop rule lose on wallets")
        try self.connection.run(
            "update facts set schema_version = $1",
            [.number(DatabaseReport.knownSchemaVersion + 2)]
        )
        try self.connection.run("analyze facts")
        await #expect(throws: StoreError.outcomeUnknown) { try await one.outcome(of: wallet.attempt(right: false)) }
        await one.close()
        await two.close()
    }

    @Test("records are widened beside servers of both versions, and after a kill in the middle no count is lost")
    func widened() async throws {
        func open(_ server: String, by key: RecordKey, _ schema: PostgreSQLStore.Schema) async throws
            -> PostgreSQLWalletStore
        {
            var parts = self.place.parts(as: server)
            (parts.key, parts.schema) = (key, schema)
            return try await PostgreSQLWalletStore.open(parts)
        }
        let previous = try await open("previous", by: .reading, .current)
        var wallets: [TestWallet] = []
        for _ in 0..<12 { wallets.append(try await TestWallet(in: previous)) }
        #expect(try await PostgreSQLWalletStore.migrate(try self.nextParts()) != nil)
        let next = try await open("next", by: .wide, Self.next)
        // A lock on a row stops the walk in its second step.
        let other = try self.place.connect()
        try other.run("begin")
        try other.run("select from wallets where id = $1 for update", [.bytes(wallets[5].id.bytes)])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for wallet in wallets {
                group.addTask {
                    for (left, store) in [(3, previous), (2, next), (1, previous)] {
                        let verdict = PINVerdict.wrong(.open(attemptsLeft: left, finalRound: false))
                        let outcome = try await store.outcome(of: wallet.attempt(right: false))
                        #expect(outcome == .notValid(verdict))
                    }
                }
            }
            group.addTask {
                await #expect(throws: StoreError.self) {
                    var cursor: UInt64?
                    repeat { cursor = try await next.checkRecords(after: cursor, limit: 4).next } while cursor != nil
                }
            }
            let waiting = "from pg_stat_activity where wait_event_type = 'Lock' and datname = $1"
            let database = PostgreSQLValue.text(self.place.database)
            try await poll { try self.connection.run("select \(waiting)", [database]).count > 0 }
            try self.connection.run("select pg_terminate_backend(pid, 60000) \(waiting)", [database])
            try other.run("rollback")
            try await group.waitForAll()
        }
        let (first, wide) = (KeptAttempts.byteCount(of: .first), KeptAttempts.byteCount(of: .wide))
        #expect(try await previous.perform(Widths()) == (0..<12).map { $0 < 4 ? wide : first })
        await next.close()
        let again = try await open("again", by: .wide, Self.next)
        var cursor: UInt64?
        repeat { cursor = try await again.checkRecords(after: cursor, limit: 4).next } while cursor != nil
        #expect(try await previous.perform(Widths()) == Array(repeating: wide, count: 12))
        for wallet in wallets {
            #expect(try await previous.report(of: wallet.id)?.attempts?.failures == 3)
            guard case .valid = try await previous.outcome(of: wallet.attempt(right: true)) else {
                Issue.record("a right PIN")
                continue
            }
        }
        #expect(try await again.perform(Widths()) == Array(repeating: wide, count: 12))
        await previous.close()
        await again.close()
    }

    @Test(
        "with the next version's number, no object is accepted whose expression runs for each row",
        arguments: [
            "create index tidy on wallets ((record || id))",
            "create index tidy on wallets (record) where record <> id",
            "alter table wallets add short boolean generated always as (record < id) stored",
            "alter table wallets add made text default clock_timestamp()::text",
            "alter table wallets add constraint short check (record <> id)",
        ]
    )
    func addedCode(change: String) async throws {
        let reasons = Reasons()
        var parts = self.place.parts()
        parts.onRefusal = { reason, _ in reasons.receive(reason) }
        let store = try await PostgreSQLWalletStore.open(parts)
        let wallet = try await TestWallet(in: store)
        _ = try await store.judge(wallet.attempt(right: false))
        for statement in ["begin", change, "update facts set schema_version = schema_version + 1", "commit"] {
            try self.connection.run(statement)
        }
        await #expect(throws: StoreError.self) { try await store.judge(wallet.attempt(right: true)) }
        #expect(reasons.contain("is unknown"))
        await store.close()
    }

    @Test("a store of an earlier version with an unknown object is neither upgraded nor opened for an epoch")
    func changed() async throws {
        try self.connection.run("create rule lose as on update to wallets do instead nothing")
        let error = PostgreSQLStoreOpenError.otherSchema(["rule lose on wallets is unknown"])
        let parts = try self.nextParts()
        await #expect(throws: error) { try await PostgreSQLWalletStore.migrate(parts) }
        #expect(try self.foundVersion() == DatabaseReport.knownSchemaVersion)
        #expect(try await self.report().schemaDifferences == ["rule lose on wallets is unknown"])
        let accepting = try self.nextParts { ($0.acceptsLostCommits, $0.acceptsEarlierVersion) = (true, true) }
        await #expect(throws: error) { _ = try await PostgreSQLWalletStore.open(accepting) }
    }

    @Test("a store that this server could not use is not upgraded")
    func unusable() async throws {
        func expectNoUpgrade(
            _ error: PostgreSQLStoreOpenError,
            _ change: (inout StoreParts) throws -> Void
        ) async throws {
            let changed = try self.nextParts(change)
            await #expect(throws: error) { try await PostgreSQLWalletStore.migrate(changed) }
            #expect(try self.foundVersion() == DatabaseReport.knownSchemaVersion, "\(error)")
        }
        try await expectNoUpgrade(.otherKey) { $0.key = .other }
        try await expectNoUpgrade(.otherPolicy([PolicyDifference(name: "attempts", kept: nil, here: "9")])) {
            $0.policy = ["attempts": "9"]
        }
        try await expectNoUpgrade(.lostCommits) { _ in
            try self.connection.run("update facts set lost_commits = true")
        }
        try await expectNoUpgrade(.restored) { _ in
            try self.connection.run("update facts set lost_commits = false, home = '1/2/3'")
        }
    }

    @Test("a restored store of an earlier version is upgraded for an epoch, and judges nothing until it is opened")
    func restored() async throws {
        try self.connection.run("update facts set home = '1/2/3'")
        let parts = try self.nextParts()
        let accepting = try self.nextParts { ($0.acceptsLostCommits, $0.acceptsEarlierVersion) = (true, true) }
        let recovery = try await PostgreSQLWalletStore.open(accepting)
        try await recovery.upgrade()
        #expect(try self.foundVersion() == Self.next.version)
        // As if the command had been killed here.
        await #expect(throws: PostgreSQLStoreOpenError.restored) { _ = try await PostgreSQLWalletStore.open(parts) }
        try await recovery.open(
            [StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])],
            with: [:],
            without: [],
            accountingFor: []
        )
        await recovery.close()
        await (try PostgreSQLWalletStore.open(parts)).close()
    }

    @Test("a report shows losses and the policy")
    func losses() async throws {
        var report = try await self.report()
        #expect(!report.lacksCommits && !report.isRestored && report.keptPolicy == [:])
        try self.connection.run("update facts set lost_commits = true, home = '1/2/3'")
        report = try await self.report()
        #expect(report.lacksCommits && report.isRestored)
    }
}
