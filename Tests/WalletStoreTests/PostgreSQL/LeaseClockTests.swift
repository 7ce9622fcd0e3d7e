import PINPolicy
import PostgreSQLClient
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("The time of all servers, and the epoch that they serve")
struct LeaseClockTests {
    private let servers: LeasedServers
    private let connection: PostgreSQLConnection

    init() async throws {
        self.servers = try await LeasedServers()
        self.connection = try self.servers.place.connect()
    }

    /// Starts a server beside the lease of a killed one, and returns its lease once that lease has ended.
    private func lease(beside change: String, refusedFor reason: String) async throws -> any ServerLease {
        try self.servers.place.addLease(ofKilled: "z", by: self.connection)
        try self.connection.run(change)
        let starting = Task { [servers = self.servers] in try await servers.server("a") }
        #expect(await self.servers.refuse(for: reason))
        self.servers.elapsed.advance(by: .seconds(7))
        return try self.servers.lease(of: try await starting.value)
    }

    @Test("a server does not start while the database's clock differs from the newest lease's time")
    func startOfClock() async throws {
        let later = "update leases set renewed_at = 4000000000000"
        let now = try await self.lease(beside: later, refusedFor: "clock differs").clock.now().milliseconds
        #expect(now < 3_000_000_000_000, "that lease has ended")
    }

    @Test("a server does not start while the database's clock is ahead of the time of a server that serves")
    func startAhead() async throws {
        // As if the lease had been renewed right now, by the time of its server.
        let earlier = "update leases set renewed_at = renewed_at - 3600000"
        #expect(try await self.lease(beside: earlier, refusedFor: "lease ended").isHeld, "that lease has ended")
    }

    @Test(
        "servers that start together do not keep the time of a wrong clock that only ended leases have",
        .timeLimit(.minutes(2))
    )
    func startTogether() async throws {
        try self.servers.place.addLease(ofKilled: "z", by: self.connection)
        try self.connection.run("update leases set renewed_at = 4000000000000")
        let starting = ["a", "b"].map { name in
            Task { [servers = self.servers] in try await servers.server(name) }
        }
        // Both servers renew their leases, and get the wrong time, before the lease of z ends.
        let haveRenewed = await eventually { [place = self.servers.place] in
            let renewed = "select count(*) from leases where renewals > 1 and server in ('a', 'b')"
            return (try? place.connect().run(renewed).number(0, 0)) == 2
        }
        #expect(haveRenewed)
        self.servers.elapsed.advance(by: .seconds(7))
        for server in starting {
            let now = try self.servers.lease(of: try await server.value).clock.now().milliseconds
            #expect(now < 3_000_000_000_000)
        }
    }

    @Test("a server whose database's clock steps, or whose machine stood still, releases nothing at once")
    func step() async throws {
        let lease = try self.servers.lease(of: try await self.servers.server("a"))
        let settled = self.servers.settled(by: lease)
        // As if the database's clock were set back.
        self.servers.uptime.advance(by: .seconds(3600))
        #expect(await self.servers.refuse(for: "synchronize the clocks"))
        #expect(!lease.isHeld, "the lease is given up before it expires")
        #expect(await eventually { settled.isEverything })
        #expect(lease.clockDifference < .seconds(-3500))
        // As if the clock were right again.
        self.servers.uptime.advance(by: .seconds(-3600))
        #expect(await eventually { lease.isHeld })
    }

    @Test("a clock rejects uncertain readings and steps, and does not run back")
    func clock() {
        let elapsed = Mutex(Duration.seconds(10))
        let clock = LeaseClock { elapsed.withLock(\.self) }
        func set(_ time: Int64, newest: Int64 = 0, at seconds: Int, for duration: Duration = .zero) -> LeaseClock.Doubt?
        {
            clock.set(time, newest: newest, between: .seconds(seconds), and: .seconds(seconds) + duration)
        }
        #expect(set(1_000, newest: 3_001, at: 10) == .step(.milliseconds(-2_001)))
        #expect(clock.known == nil)
        let overdue = Duration.milliseconds(2_001)
        #expect(clock.set(1_000, newest: 1_000, overdue: overdue, between: .zero, and: .zero) == .ahead(overdue))
        #expect(clock.known == nil)
        #expect(set(1_000, newest: 2_500, at: 10) == nil)
        #expect(clock.now().milliseconds == 2_500, "the newest lease's")
        #expect(set(1_000, at: 10) == nil)
        #expect(clock.set(1_000, newest: 0, overdue: overdue, between: .seconds(10), and: .seconds(10)) == nil)
        #expect(clock.now().milliseconds == 2_500)
        elapsed.withLock { $0 += .seconds(5) }
        #expect(clock.now().milliseconds == 6_000)
        #expect(set(6_000, at: 15, for: .milliseconds(1_001)) == .uncertain(.milliseconds(1_001)))
        #expect(set(8_001, at: 15) == .step(.milliseconds(2_001)))
        #expect(set(3_999, at: 15) == .step(.milliseconds(-2_001)))
        #expect(clock.difference == .milliseconds(-2_001))
        #expect(clock.now().milliseconds == 6_000)
        #expect(set(4_000, at: 15) == nil)
        #expect(clock.now().milliseconds == 6_000)
        elapsed.withLock { $0 += .seconds(6) }
        #expect(clock.now().milliseconds == 10_000)
    }

    @Test("a server whose epoch has ended releases nothing more, and must start again")
    func epochEnded() async throws {
        let store = try await self.servers.server("a")
        let lease = try self.servers.lease(of: store)
        let settled = self.servers.settled(by: lease)
        try await store.open([StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])])
        #expect(await self.servers.noticeEpoch())
        #expect(!lease.isHeld)
        #expect(settled.isEverything)
        await store.close()
        // As `store epoch` does.
        try self.connection.run("delete from leases")
        let next = try await self.servers.server("a")
        #expect(try self.servers.lease(of: next).isHeld)
    }
}
