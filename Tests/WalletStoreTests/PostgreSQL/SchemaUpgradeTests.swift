import PINPolicy
import PostgreSQLClient
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

    /// Gives the tables the form of an earlier version.
    private func downgrade(to version: Int64) throws {
        for table in ["accounted_commits", "leases", "revocations", "revocation_count"] {
            try self.connection.run("drop table \(table)")
        }
        if version == 1 { try self.connection.run("alter table facts drop column home") }
        try self.connection.run("update facts set schema_version = $1", [.number(version)])
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
        try self.downgrade(to: 2)
        await #expect(throws: PostgreSQLStoreOpenError.otherVersion(found: 2, known: Schema.version)) {
            _ = try await self.place.open()
        }
        let parts = self.place.parts()
        async let one = PostgreSQLWalletStore.migrate(parts)
        async let two = PostgreSQLWalletStore.migrate(parts)
        #expect(try await [one, two].compactMap(\.self) == [2])
        let upgraded = try await self.place.open()
        try await upgraded.takeLease()
        try await upgraded.recordWipe(of: wallet.id, at: TestWallet.start)
        let lease = try #require(upgraded.lease)
        #expect(try await lease.acknowledgements().acknowledged == ["test"])
        await upgraded.close()
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
        // As a server of the next version does.
        try self.connection.run("begin")
        try self.connection.run("alter table facts add column later bigint not null default 0")
        try self.connection.run("create table later (id bigint generated always as identity primary key)")
        try self.connection.run("create index later_wallets on wallet_values (place)")
        try self.connection.run("update facts set schema_version = $1", [.number(Schema.version + 1)])
        try self.connection.run("commit")
        try await attemptsLeft(1, at: one)
        _ = try await TestWallet(in: one)
        _ = try await two.outcome(of: wallet.attempt(right: true))
        try await attemptsLeft(3, at: one)
        let next = PostgreSQLStoreOpenError.otherVersion(found: Schema.version + 1, known: Schema.version)
        await #expect(throws: next) { _ = try await self.place.open() }
        try self.connection.run("create rule lose as on update to wallets do instead nothing")
        await #expect(throws: StoreError.self) { try await two.outcome(of: wallet.attempt(right: false)) }
        try self.connection.run("drop rule lose on wallets")
        try self.connection.run("update facts set schema_version = $1", [.number(Schema.version + 2)])
        try self.connection.run("analyze facts")
        await #expect(throws: StoreError.outcomeUnknown) { try await one.outcome(of: wallet.attempt(right: false)) }
        await one.close()
        await two.close()
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
        try self.downgrade(to: 2)
        try self.connection.run("create rule lose as on update to wallets do instead nothing")
        let error = PostgreSQLStoreOpenError.otherSchema(["rule lose on wallets is unknown"])
        let parts = self.place.parts()
        await #expect(throws: error) { try await PostgreSQLWalletStore.migrate(parts) }
        #expect(try self.foundVersion() == 2)
        #expect(try await self.report().schemaDifferences == ["rule lose on wallets is unknown"])
        var epoch = parts
        (epoch.acceptsLostCommits, epoch.acceptsEarlierVersion) = (true, true)
        let accepting = epoch
        await #expect(throws: error) { _ = try await PostgreSQLWalletStore.open(accepting) }
    }

    @Test("a store that this server could not use is not upgraded")
    func unusable() async throws {
        try self.downgrade(to: 2)
        func expectNoUpgrade(
            _ error: PostgreSQLStoreOpenError,
            _ change: (inout StoreParts) throws -> Void
        ) async throws {
            var parts = self.place.parts()
            try change(&parts)
            let changed = parts
            await #expect(throws: error) { try await PostgreSQLWalletStore.migrate(changed) }
            #expect(try self.foundVersion() == 2, "\(error)")
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

    @Test("a store of version 1, which may be a restored dump, is not used until an operator opens an epoch")
    func unknownOrigin() async throws {
        try self.downgrade(to: 1)
        await #expect(throws: PostgreSQLStoreOpenError.unknownOrigin) {
            try await PostgreSQLWalletStore.migrate(self.place.parts())
        }
        #expect(try self.foundVersion() == 1)
        var parts = self.place.parts()
        (parts.acceptsLostCommits, parts.acceptsEarlierVersion) = (true, true)
        let recovery = try await PostgreSQLWalletStore.open(parts)
        try await recovery.upgrade()
        #expect(try self.foundVersion() == Schema.version)
        // As if the command had been killed here.
        await #expect(throws: PostgreSQLStoreOpenError.unknownOrigin) { _ = try await self.place.open() }
        #expect(try await self.report().isOfUnknownOrigin)
        try await recovery.open(
            [StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])],
            with: [:],
            without: [],
            accountingFor: []
        )
        await recovery.close()
        await (try self.place.open()).close()
        #expect(try await !self.report().isOfUnknownOrigin)
    }

    @Test(
        "a report shows losses and the policy with each version of the schema",
        arguments: [1, 2, DatabaseReport.knownSchemaVersion]
    )
    func report(version: Int64) async throws {
        if version < DatabaseReport.knownSchemaVersion { try self.downgrade(to: version) }
        var report = try await self.report()
        #expect(!report.lacksCommits && !report.isRestored && report.isOfUnknownOrigin == (version == 1))
        #expect(report.keptPolicy == [:])
        try self.connection.run("update facts set lost_commits = true")
        if version > 1 { try self.connection.run("update facts set home = '1/2/3'") }
        report = try await self.report()
        #expect(report.lacksCommits && report.isRestored == (version > 1))
    }
}
