import Dispatch
import PostgreSQLClient
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Leases")
struct LeaseTests {
    private let servers: LeasedServers
    private var place: PostgreSQLPlace { self.servers.place }
    private let connection: PostgreSQLConnection
    private var elapsed: LeasedServers.ElapsedTime { self.servers.elapsed }

    init() async throws {
        self.servers = try await LeasedServers()
        self.connection = try self.servers.place.connect()
    }

    /// A server's connections, which a test settles.
    private final class Connections: Sendable {
        let settled = Mutex<[[WalletID]?]>([])
        let isBusy = Mutex<CheckedContinuation<Void, Never>?>(nil)
    }

    private func server(_ name: String, lease: Duration = .seconds(60)) async throws -> PostgreSQLWalletStore {
        try await self.servers.server(name, lease: lease)
    }

    @Test("a revocation waits until every server has settled its own connections of the wallets")
    func acknowledgements() async throws {
        let (first, second) = (try await self.server("a"), try await self.server("b"))
        let connections = Connections()
        try self.servers.lease(of: second).serve { wallets in
            connections.settled.withLock { $0.append(wallets) }
            await withCheckedContinuation { waiter in connections.isBusy.withLock { $0 = waiter } }
        } load: {
            (connections: 3, sessions: 2)
        }
        let wallet = try await TestWallet(in: first)
        _ = try await first.revoke(wallets: [wallet.id], at: TestWallet.start)
        let lease = try self.servers.lease(of: first)
        let done = LeasedServers.Event()
        let answer = Task {
            let answer = try await lease.acknowledgements()
            done.happen()
            return answer
        }
        #expect(await eventually { connections.isBusy.withLock { $0 != nil } })
        #expect(connections.settled.withLock(\.self) == [[wallet.id]])
        // The first server has acknowledged, and knows of the second one.
        #expect(await eventually { lease.servers.count == 2 })
        #expect(!done.hasHappened)
        connections.isBusy.withLock { $0.take() }?.resume()
        #expect(try await answer.value == Acknowledgements(acknowledged: ["a", "b"]))
        #expect(await eventually { lease.servers.last?.sessions == 2 })
    }

    @Test("every kind of end is settled at other servers, and so is everything after a revocation that was missed")
    func ends() async throws {
        let (first, second) = (try await self.server("a"), try await self.server("b"))
        let connections = Connections()
        try self.servers.lease(of: second).serve { wallets in
            connections.settled.withLock { $0.append(wallets) }
        } load: {
            (0, 0)
        }
        func expectSettled(_ expected: [WalletID]?, line: Int = #line) async throws {
            let servers = try await self.servers.lease(of: first).acknowledgements()
            #expect(servers == Acknowledgements(acknowledged: ["a", "b"]), "line \(line)")
            #expect(connections.settled.withLock(\.last) == .some(expected), "line \(line)")
        }
        let wallets = try await [
            TestWallet(in: first), TestWallet(in: first), TestWallet(in: first), TestWallet(in: first),
        ]
        try await first.recordWipe(of: wallets[0].id, at: TestWallet.start)
        try await expectSettled([wallets[0].id])
        _ = try await first.end([wallets[1].id], as: .byWipe, at: TestWallet.start)
        try await expectSettled([wallets[1].id])
        let mac = TestWallet.bytes(32)
        _ = try await first.outcome(of: wallets[2].attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
        _ = try await first.revoke(recoveryCode: TestWallet.mac(mac), at: TestWallet.start)
        try await expectSettled([wallets[2].id])
        _ = try await first.setSolutionRevoked(true)
        try await expectSettled(nil)
        try self.connection.run("update revocation_count set number = number + 1")
        try await expectSettled(nil)
    }

    @Test("a server settles again after a reconnection, because the database may number other revocations now")
    func lostRevocations() async throws {
        let (first, second) = (try await self.server("a"), try await self.server("b"))
        let settled = Mutex<[[WalletID]?]>([])
        try self.servers.lease(of: second).serve { wallets in
            settled.withLock { $0.append(wallets) }
        } load: {
            (0, 0)
        }
        let lease = try self.servers.lease(of: first)
        let wallets = (try await TestWallet(in: first), try await TestWallet(in: first))
        _ = try await first.revoke(wallets: [wallets.0.id], at: TestWallet.start)
        _ = try await lease.acknowledgements()
        #expect(settled.withLock(\.last) == .some([wallets.0.id]))
        // As after a failover to a member that lacks the revocation.
        try self.connection.run("update revocation_count set number = number - 1")
        try self.connection.run("delete from revocations where number > (select number from revocation_count)")
        try self.connection.run("update leases set acknowledged = (select number from revocation_count)")
        try self.place.disconnect("b", by: self.connection)
        _ = try await first.revoke(wallets: [wallets.1.id], at: TestWallet.start)
        #expect(try await lease.acknowledgements() == Acknowledgements(acknowledged: ["a", "b"]))
        #expect(settled.withLock { $0.dropFirst().contains { $0?.contains(wallets.1.id) ?? true } })
    }

    @Test("a revocation waits for a server that was killed until its lease has ended, and not longer")
    func killedServer() async throws {
        let store = try await self.server("a")
        try self.place.addLease(ofKilled: "b", lasting: .seconds(30), by: self.connection)
        let lease = try #require(try self.servers.lease(of: store) as? LeaseKeeper)
        let wallet = try await TestWallet(in: store)
        try await store.recordWipe(of: wallet.id, at: TestWallet.start)
        let done = LeasedServers.Event()
        let answer = Task {
            let answer = try await lease.acknowledgements()
            done.happen()
            return answer
        }
        let isWaiting = await eventually {
            lease.state.withLock { $0.lease.waiters.contains { $0.waiting.values.contains("b") } }
        }
        #expect(isWaiting)
        #expect(!done.hasHappened)
        self.elapsed.advance(by: .seconds(31))
        let acknowledgements = try await answer.value
        #expect(acknowledgements == Acknowledgements(acknowledged: ["a"], ended: ["b"]))
        #expect(lease.servers.map(\.name) == ["a"])
    }

    @Test("a server that cannot renew its lease releases nothing after two thirds of it, and cuts off its answers")
    func lapse() async throws {
        let store = try await self.server("a", lease: .seconds(6000))
        let lease = try self.servers.lease(of: store)
        let connections = Connections()
        lease.serve { wallets in
            connections.settled.withLock { $0.append(wallets) }
        } load: {
            (0, 0)
        }
        try self.connection.run("alter table leases rename to unreachable")
        self.elapsed.advance(by: .seconds(3900))
        #expect(lease.isHeld)
        self.elapsed.advance(by: .seconds(101))
        #expect(!lease.isHeld)
        #expect(await eventually { connections.settled.withLock(\.self) == [nil] })
        await #expect(throws: StoreError.unavailable) { _ = try await lease.acknowledgements() }
        try self.connection.run("alter table unreachable rename to leases")
        #expect(await eventually { lease.isHeld })
    }

    @Test("the end of a lease cuts off answers in time, even if the thread that renews it is blocked")
    func blocked() async throws {
        let lease = try self.servers.lease(of: try await self.server("a"))
        let (connections, isBlocked, gate) = (Connections(), LeasedServers.Event(), DispatchSemaphore(value: 0))
        defer { gate.signal() }
        // The thread asks for the load before each renewal.
        lease.serve { wallets in
            connections.settled.withLock { $0.append(wallets) }
        } load: {
            if !isBlocked.hasHappened {
                isBlocked.happen()
                gate.wait()
            }
            return (0, 0)
        }
        #expect(await eventually { isBlocked.hasHappened })
        let waiting = Task { try await lease.acknowledgements() }
        self.elapsed.advance(by: .seconds(41))
        #expect(!lease.isHeld)
        #expect(await eventually { connections.settled.withLock(\.self) == [nil] })
        await #expect(throws: StoreError.unavailable) { _ = try await waiting.value }
    }

    @Test("a renewal in a database that may lose commits does not count, and the lease ends")
    func durability() async throws {
        let lease = try self.servers.lease(of: try await self.server("a"))
        try self.connection.run("alter table wallets set unlogged")
        #expect(await self.servers.refuse(for: "unlogged table wallets is unknown"))
        self.elapsed.advance(by: .seconds(41))
        #expect(!lease.isHeld)
        try self.connection.run("alter table wallets set logged")
        #expect(await eventually { lease.isHeld })
    }

    @Test("a store that lacks commits ends all leases, including that of a server that lost none")
    func lostCommits() async throws {
        let lease = try self.servers.lease(of: try await self.server("a"))
        try self.connection.run("update facts set lost_commits = true")
        let reason = "\(PostgreSQLStoreOpenError.lostCommits)"
        #expect(await self.servers.refuse(for: reason))
        self.elapsed.advance(by: .seconds(41))
        #expect(!lease.isHeld)
    }

    @Test("a server whose lease others have ended settles everything before it releases again")
    func retaken() async throws {
        let store = try await self.server("a")
        let lease = try self.servers.lease(of: store)
        let (connections, early) = (Connections(), LeasedServers.Event())
        lease.serve { [weak store] wallets in
            if store?.lease?.isHeld ?? false { early.happen() }
            connections.settled.withLock { $0.append(wallets) }
        } load: {
            (0, 0)
        }
        try self.connection.run("delete from leases")
        #expect(await eventually { lease.isHeld && connections.settled.withLock(\.count) == 1 })
        #expect(connections.settled.withLock(\.first) == .some(nil))
        #expect(!early.hasHappened)
    }

    @Test("of two servers with one name the second does not start; after a crash it starts once the lease has ended")
    func names() async throws {
        let first = try await self.server("a")
        await #expect { _ = try await self.server("a") } throws: { error in
            guard case .nameInUse("a", _) = error as? PostgreSQLStoreOpenError else { return false }
            return true
        }
        await first.close()
        try await self.server("a").close()
        try self.place.addLease(ofKilled: "a", by: self.connection)
        let (elapsed, place) = (self.elapsed, self.place)
        let advancing = Task {
            let connection = try place.connect()
            try await poll {
                elapsed.advance(by: .seconds(1))
                return try connection.run("select from leases where instance = 'killed'").count == 0
            }
        }
        #expect(try await self.server("a").lease?.server == "a")
        try await advancing.value
    }

    @Test("one server at a time has the maintenance, and another one takes it over")
    func maintenance() async throws {
        let (first, second) = (try await self.server("a"), try await self.server("b"))
        let (one, two) = (try self.servers.lease(of: first), try self.servers.lease(of: second))
        #expect(one.hasMaintenance)
        #expect(!two.hasMaintenance)
        await first.close()
        #expect(await eventually { two.hasMaintenance })
    }

    @Test(
        "a version of the vault's keys does not seal while a server with a lease lacks it, and one without is ignored"
    )
    func vaultKeys() async throws {
        let store = try await self.server("a")
        _ = try await store.note(vaultVersion: 1, check: [0xAB], at: TestWallet.start)
        try self.place.addLease(ofKilled: "b", by: self.connection)
        await #expect(throws: StoreError.unavailable) {
            _ = try await store.note(vaultVersion: 2, check: [0xCD], at: TestWallet.start)
        }
        #expect(try await store.note(vaultVersion: 1, check: [0xAB], at: TestWallet.start).count == 1)
        try self.connection.run("update leases set vault_keys = '1:ab 2:cd' where server = 'b'")
        #expect(try await store.note(vaultVersion: 2, check: [0xCD], at: TestWallet.start).count == 2)
    }
}
