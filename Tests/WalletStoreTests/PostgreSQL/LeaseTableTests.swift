import PostgreSQLClient
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("The table of leases")
struct LeaseTableTests {
    private let servers: LeasedServers
    private let connection: PostgreSQLConnection

    init() async throws {
        self.servers = try await LeasedServers()
        self.connection = try self.servers.place.connect()
    }

    @Test("a lease that has ended is not revived by its holder's next renewal, and a renewed one is not ended")
    func fencing() throws {
        let table = try self.table()
        #expect(try table.take())
        let row = try #require(try table.look().rows.first)
        #expect(try self.renew(table) != nil)
        #expect(try !table.end(row), "it was renewed since it was read")
        let newer = try #require(try table.look().rows.first)
        #expect(try table.end(newer))
        #expect(try self.renew(table) == nil)
    }

    private func table() throws -> LeaseTable {
        try LeaseTable(self.servers.place.parts(as: "a"), nil, instance: "1", until: .now + PostgreSQLCluster.longest)
    }

    private func renew(_ table: LeaseTable, at time: Int64? = nil) throws -> LeaseTable.Renewal? {
        try table.renew(acknowledging: 0, isNews: false, load: (0, 0), takesMaintenance: false, at: time)
    }

    @Test("all statements of a round share one deadline, including those of a new connection")
    func deadline() throws {
        let table = try self.table()
        table.session.deadline = .now
        #expect(throws: PostgreSQLFailure.self) { try table.look() }
        #expect(!table.session.connection.isOpen)
        #expect(throws: PostgreSQLFailure.self) {
            try LeaseTable(self.servers.place.parts(as: "a"), nil, instance: "1", until: .now)
        }
    }

    @Test("the isolation of renewals does not depend on the database's settings")
    func isolation() throws {
        let database = self.servers.place.database
        try self.connection.run("alter database \(database) set default_transaction_isolation = serializable")
        let level = try self.table().session.run(.sql("select current_setting('transaction_isolation')", []))
        #expect(level.text(0, 0) == "read committed")
    }

    @Test("a first lease begins with the time of the newest one; later renewals keep the time of their server")
    func time() throws {
        let future: Int64 = 4_000_000_000_000
        try self.servers.place.addLease(ofKilled: "z", by: self.connection)
        try self.connection.run("update leases set renewed_at = \(future)")
        let table = try self.table()
        #expect(try table.take())
        let first = try #require(try self.renew(table))
        #expect(first.time == future)
        #expect(first.clock < future)
        #expect(try self.renew(table, at: 7)?.time == 7)
    }

    @Test("while a new version of the vault's keys is committed, leases are renewed, and a new lease waits")
    func vaultKeysLock() async throws {
        let table = try self.table()
        #expect(try table.take())
        let parts = self.servers.place.parts(as: "b")
        let transaction = try StoreTransaction(.writing, on: StoreSession(parts), parts)
        try self.connection.run("update leases set vault_keys = '1:ab'")
        _ = try NoteVaultVersion(version: 1, check: [0xAB], now: TestWallet.start).run(in: transaction)
        #expect(try self.renew(table) != nil)
        let (servers, hasStarted) = (self.servers, LeasedServers.Event())
        let starting = Task {
            let store = try await servers.server("c")
            hasStarted.happen()
            return store
        }
        let waiting = "select from pg_stat_activity where wait_event = 'advisory' and datname = $1"
        let database = PostgreSQLValue.text(servers.place.database)
        try await poll { try self.connection.run(waiting, [database]).count > 0 || hasStarted.hasHappened }
        #expect(!hasStarted.hasHappened)
        try transaction.commit()
        #expect(try self.servers.lease(of: try await starting.value).isHeld)
    }
}
