import MetricsTestKit
import PINPolicy
import PostgreSQLClient
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Several servers on one database")
struct SharedDatabaseTests {
    private let place: PostgreSQLPlace
    private let connection: PostgreSQLConnection
    private let stores: [PostgreSQLWalletStore]
    private var store: PostgreSQLWalletStore { self.stores[0] }
    private let threeLeft = AttemptOutcome.notValid(.wrong(.open(attemptsLeft: 3, finalRound: false)))

    init() async throws {
        self.place = try await PostgreSQLPlace()
        self.connection = try self.place.connect()
        self.stores = [try await self.place.open(), try await self.place.open()]
    }

    @Test("two servers that judge one wallet at the same time allow no more attempts than one")
    func allowance() async throws {
        let wallet = try await TestWallet(in: self.store)
        var (judged, blocked) = (0, 0)
        for outcome in try await self.onBoth(count: 12, { try await $0.outcome(of: wallet.attempt(right: false)) }) {
            switch outcome {
            case .notValid(.wrong, _): judged += 1
            case .notValid(.blocked, _): blocked += 1
            default: Issue.record("\(outcome)")
            }
        }
        #expect(judged == 4)
        #expect(blocked == 20)
    }

    @Test("two servers that judge a writing instruction at the same time allow no more attempts, and refuse none")
    func writingAllowance() async throws {
        let wallet = try await TestWallet(in: self.store)
        let change = Attempt.Effect.replacePINKey(identity: TestWallet.bytes(300), newKeyID: .random())
        let outcomes = try await self.onBoth(count: 8) {
            try await $0.outcome(of: wallet.attempt(right: false, effect: change))
        }
        #expect(outcomes.count { if case .notValid(.wrong, _) = $0 { true } else { false } } == 4)
        #expect(outcomes.count { if case .notValid(.blocked, _) = $0 { true } else { false } } == 12)
    }

    @Test("a change that waits for another one of the same wallet does not undo it, and is done")
    func waitingChange() async throws {
        let wallet = try await TestWallet(in: self.store)
        let parts = self.place.parts()
        let other = try StoreTransaction(.writing, on: StoreSession(parts), parts)
        try other.keepAll(try #require(try other.hold(wallet.id, with: [.row, .attempts])))
        let wipe = Task { [store = self.store] in try await store.recordWipe(of: wallet.id, at: TestWallet.start) }
        try await self.untilWaiting()
        try other.commit()
        try await wipe.value
        try await #expect(self.store.report(of: wallet.id)?.revocation == .byWipe)
    }

    @Test("a registration that waits for a revocation of the solution sees it")
    func registrationAfterRevocation() async throws {
        let wallet = try await TestWallet(in: self.store)
        let other = try await TestWallet(in: self.store, opened: false)
        let parts = self.place.parts()
        let revocation = try StoreTransaction(.changingFacts, on: StoreSession(parts), parts)
        try revocation.setSolutionRevoked(true)
        let outcome = Task { [store = self.store] in try await store.register(other.registration()) }
        try await self.untilWaiting()
        try revocation.commit()
        #expect(try await outcome.value == .solutionRevoked)
        let solution = Revocation(reason: .solution, mayRegisterAnew: false)
        try await #expect(self.store.outcome(of: wallet.attempt(right: true)) == .revoked(solution))
    }

    @Test("without a signature no verdict leaves a server, and the attempt is counted")
    func unsigned() async throws {
        let signer = TestSigner()
        var parts = self.place.parts(as: "signing")
        parts.receipts = signer
        let server = try await PostgreSQLWalletStore.open(parts)
        let wallet = try await TestWallet(in: server)
        signer.fails.withLock { $0 = true }
        for isRight in [true, false] {
            await #expect(throws: StoreError.notCertified) { try await server.judge(wallet.attempt(right: isRight)) }
        }
        signer.fails.withLock { $0 = false }
        let receipt = try #require(try await server.judge(wallet.attempt(right: true)).receipt)
        #expect(receipt.leaf.number == 3 && receipt.leaf.wrongPINs == 1)
    }

    @Test("one counter of an assertion opens one session on all servers")
    func counters() async throws {
        let wallet = try await TestWallet(in: self.store, assertionCounter: 1, opened: false)
        let outcomes = try await self.onBoth(count: 20) { try await $0.beginSession(wallet.newSession(counter: 7)) }
        #expect(outcomes.count { $0 != .counterNotIncreased } == 1)
    }

    @Test("a server that cached a wallet sees what another server changed since")
    func caches() async throws {
        let wallet = try await TestWallet(in: self.stores[0])
        for _ in 0..<2 {
            for store in self.stores { _ = try await store.outcome(of: wallet.attempt(right: true)) }
        }
        var new = wallet
        (new.keyID, new.pinKey, new.identity) = (.random(), try TestWallet.publicKey(), TestWallet.bytes(300))
        let change = Attempt.Effect.replacePINKey(identity: new.identity, newKeyID: new.keyID)
        try await #expect(
            self.stores[0].outcome(of: wallet.attempt(right: true, effect: change)) == .valid(.pinKeyReplaced)
        )
        try await #expect(self.stores[1].outcome(of: wallet.attempt(right: true)) == .pinKeyChanged(current: new.keyID))
        try await #expect(self.stores[1].outcome(of: new.attempt(right: false)) == self.threeLeft)
        try await #expect(self.stores[0].setSolutionRevoked(true))
        let solution = Revocation(reason: .solution, mayRegisterAnew: false)
        try await #expect(self.stores[1].outcome(of: new.attempt(right: true)) == .revoked(solution))
        try await #expect(self.stores[0].setSolutionRevoked(false))
        try await self.stores[0].recordWipe(of: wallet.id, at: TestWallet.start)
        try await #expect(self.stores[1].outcome(of: new.attempt(right: true)) == .revoked(.byWipe))
    }

    @Test("a revoked wallet opens no session on any server, and gets no presence share")
    func sessionAfterRevocation() async throws {
        let wallet = try await TestWallet(in: self.store)
        for store in self.stores { _ = try await store.beginSession(wallet.newSession()) }
        _ = try await self.store.revoke(wallets: [wallet.id], at: TestWallet.start)
        for store in self.stores {
            let outcome = try await store.beginSession(wallet.newSession())
            #expect(outcome == .revoked(Revocation(reason: .wallet, mayRegisterAnew: true)))
        }
    }

    @Test("a wallet that is linked while its code is denied ends, on whichever servers")
    func linkAndDenial() async throws {
        for _ in 0..<20 {
            let wallet = try await TestWallet(in: self.store)
            let mac = TestWallet.bytes(32)
            let link = try wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac))
            let (code, first, second) = (try TestWallet.mac(mac), self.stores[0], self.stores[1])
            async let linked = first.outcome(of: link)
            async let denied = second.revoke(recoveryCode: code, at: TestWallet.start)
            let (outcome, revocation) = (try await linked, try await denied)
            if outcome == .valid(.recoveryCodeLinked) {
                #expect(revocation.linked == [wallet.id])
                try await #expect(self.store.report(of: wallet.id)?.revocation?.reason == .recoveryCode)
            } else {
                #expect(outcome == .valid(.codeDenied))
            }
        }
    }

    @Test("a link that waits for the denial of its code sees it, whatever isolation the database prefers")
    func linkAfterDenial() async throws {
        _ = try self.connection.run(
            "alter database \(self.place.database) set default_transaction_isolation = 'repeatable read'"
        )
        let store = try await self.place.open()
        let wallet = try await TestWallet(in: store)
        let mac = TestWallet.bytes(32)
        let link = try wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac))
        let parts = self.place.parts()
        let denial = try StoreTransaction(.writing, on: StoreSession(parts), parts)
        try denial.lock(recoveryCode: mac)
        let outcome = Task { try await store.outcome(of: link) }
        try await self.untilWaiting()
        try denial.run("insert into denied_recovery_codes (mac, denied_at) values ($1, 0)", [.bytes(mac)])
        try denial.commit()
        try await #expect(outcome.value == .valid(.codeDenied))
    }

    @Test("a server that freezes within a transaction keeps no lock for longer than its time limit")
    func frozenServer() async throws {
        let parts = self.place.parts(limit: .seconds(5), as: "frozen")
        let frozen = try StoreTransaction(.writing, on: StoreSession(parts), parts)
        try await #expect(self.store.setSolutionRevoked(true))
        #expect(throws: PostgreSQLFailure.self) { try frozen.commit() }
    }

    @Test("a wallet whose row another server has locked holds up no other wallet")
    func lockedRow() async throws {
        let wallets = [try await TestWallet(in: self.store), try await TestWallet(in: self.store)]
        let observer = try self.place.connect()
        func commits() throws -> Int64 {
            let sum = "select sum(number)::bigint from commit_numbers where lane = 'judging'"
            return try observer.run(sum).number(0, 0) ?? 0
        }
        try self.connection.run("begin")
        try self.connection.run("select 1 from wallets where id = $1 for update", [.bytes(wallets[0].id.bytes)])
        let (store, attempt) = (self.store, try wallets[0].attempt(right: false))
        let before = try commits()
        let locked = Task { try await store.outcome(of: attempt) }
        // It is being tried again.
        try await poll { try commits() >= before + 2 }
        try await #expect(store.outcome(of: wallets[1].attempt(right: false)) == self.threeLeft)
        try self.connection.run("commit")
        try await #expect(locked.value == self.threeLeft)
    }

    @Test("rows that another server has changed, transactions, and the reasons of refusals are counted")
    func meters() async throws {
        let metrics = TestMetrics()
        var parts = self.place.parts(as: "measured")
        parts.metrics = metrics
        let store = try await PostgreSQLWalletStore.open(parts)
        let wallet = try await TestWallet(in: store)
        func total(_ name: String, _ labels: [(String, String)] = []) throws -> Int64 {
            try metrics.expectCounter("remote_pin_store_\(name)_total", labels).totalValue
        }
        #expect(try await store.outcome(of: wallet.attempt(right: false)) == self.threeLeft)
        #expect(try total("comparison_misses") == 0)
        _ = try await self.store.outcome(of: wallet.attempt(right: true))
        #expect(try await store.outcome(of: wallet.attempt(right: false)) == self.threeLeft)
        #expect(try total("comparison_misses") == 1)
        #expect(try metrics.expectTimer("remote_pin_store_transaction_seconds").values.count >= 1)
        #expect(try metrics.expectTimer("remote_pin_store_queue_wait_seconds").values.count >= 3)
        #expect(try total("refusals", [("reason", "lost_commits")]) == 0)
        _ = try self.connection.run("update facts set lost_commits = true")
        await #expect(throws: StoreError.unavailable) { try await store.outcome(of: wallet.attempt(right: false)) }
        #expect(try total("refusals", [("reason", "lost_commits")]) > 0)
        #expect(try total("refusals", [("reason", "policy")]) == 0)
    }

    @Test("a revocation of the solution waits for the transactions before it, and those after it wait")
    func factsInTurn() async throws {
        let (before, after) = (try self.place.connect(), try self.place.connect())
        try before.run("begin")
        try before.run("select 1 from facts for share")
        let store = self.store
        let revocation = Task { try await store.setSolutionRevoked(true) }
        try await self.untilWaiting()
        try after.run("set lock_timeout = 100")
        #expect(throws: PostgreSQLFailure.self) { try after.run("select 1 from facts for share") }
        try before.run("commit")
        try await #expect(revocation.value)
    }

    @Test("every verdict leaves a write: also a blocked, a repeated and a revoked attempt, and a session")
    func writes() async throws {
        let wallet = try await TestWallet(in: self.store)
        let session = wallet.newSession()
        var before = try self.narrow(of: wallet.id).state.writes
        func expectWrite() throws {
            let now = try self.narrow(of: wallet.id).state.writes
            #expect(now == before + 1)
            before = now
        }
        _ = try await self.store.beginSession(session)
        try expectWrite()
        let repeated = try wallet.attempt(right: false)
        for _ in 0..<2 {
            try await #expect(self.store.outcome(of: repeated) == self.threeLeft)
            try expectWrite()
        }
        for _ in 0..<4 {
            _ = try await self.store.outcome(of: wallet.attempt(right: false))
            try expectWrite()
        }
        try await #expect(
            self.store.outcome(of: wallet.attempt(right: true)) == .notValid(.blocked(remaining: .seconds(60)))
        )
        try expectWrite()
        try await self.store.recordWipe(of: wallet.id, at: TestWallet.start)
        try expectWrite()
        try await #expect(self.store.outcome(of: wallet.attempt(right: true)) == .revoked(.byWipe))
        try expectWrite()
    }

    @Test("a revocation destroys the key of the wide row's shares, so an old copy of that row opens no share")
    func erasure() async throws {
        let share = TestWallet.bytes(80)
        let wallet = try await TestWallet(in: self.store, unlockShare: share, presenceShare: share)
        let before = try self.wide(of: wallet.id)
        #expect(!before.isEmpty && !before.contains(share), "the shares are sealed under the key of the narrow row")
        #expect(try self.narrow(of: wallet.id).shareKey.contains { $0 != 0 })
        try await self.store.recordWipe(of: wallet.id, at: TestWallet.start)
        #expect(try self.narrow(of: wallet.id).shareKey.allSatisfy { $0 == 0 })
        #expect(try Set(self.wide(of: wallet.id)).isDisjoint(with: before))
    }

    @Test("the attempts of a wallet exist from its registration on; a wallet without them is not judged")
    func attemptRow() async throws {
        let wallet = try await TestWallet(in: self.store, opened: false)
        #expect(try self.narrow(of: wallet.id).attempts(of: wallet.id, by: .test)?.record.isEmpty == true)
        #expect(try self.record(of: wallet.id).count <= 160)
        _ = try self.connection.run("delete from wallets where id = $1", [.bytes(wallet.id.bytes)])
        await #expect(throws: StoreError.corrupt) { try await self.stores[1].outcome(of: wallet.attempt(right: true)) }
    }

    @Test("an altered row is damage: an older count, another wallet's row, a row without its wide one")
    func damage() async throws {
        let wallets = [try await TestWallet(in: self.store), try await TestWallet(in: self.store)]
        let other = try self.record(of: wallets[1].id)
        try self.put(other, as: wallets[0].id)
        await #expect(throws: StoreError.corrupt) {
            try await self.stores[1].outcome(of: wallets[0].attempt(right: true))
        }
        _ = try self.connection.run("update wallet_values set version = version + 1")
        await #expect(throws: StoreError.corrupt) {
            try await self.stores[1].outcome(of: wallets[1].attempt(right: true))
        }
    }

    @Test("the charge of an epoch that another server opens is applied once, by the next judged PIN")
    func epochs() async throws {
        let wallet = try await TestWallet(in: self.store)
        try await #expect(self.store.outcome(of: wallet.attempt(right: false)) == self.threeLeft)
        try await self.stores[1].open([StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])])
        let last = AttemptOutcome.notValid(.wrong(.open(attemptsLeft: 3, finalRound: true)))
        try await #expect(self.store.outcome(of: wallet.attempt(right: false)) == last)
        try await #expect(
            self.store.outcome(of: wallet.attempt(right: false))
                == .notValid(.wrong(.open(attemptsLeft: 2, finalRound: true)))
        )
        #expect(try self.narrow(of: wallet.id).state.epoch == 2)
    }

    /// Returns once a session of this database waits for a lock.
    private func untilWaiting() async throws {
        let waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = $1"
        try await poll { try self.connection.run(waiting, [.text(self.place.database)]).count > 0 }
    }

    /// Runs steps on both stores at the same time, `count` on each.
    private func onBoth<Outcome: Sendable>(
        count: Int,
        _ step: @escaping @Sendable (PostgreSQLWalletStore) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            for _ in 0..<count {
                for store in self.stores { group.addTask { try await step(store) } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func record(of wallet: WalletID) throws -> [UInt8] {
        let rows = try self.connection.run("select record from wallets where id = $1", [.bytes(wallet.bytes)])
        return try #require(rows.bytes(0, 0))
    }

    private func put(_ record: [UInt8], as wallet: WalletID) throws {
        _ = try self.connection.run(
            "update wallets set record = $2 where id = $1",
            [.bytes(wallet.bytes), .bytes(record)]
        )
    }

    private func narrow(of wallet: WalletID) throws -> NarrowRow {
        try #require(NarrowRow(decoding: self.record(of: wallet)))
    }

    private func wide(of wallet: WalletID) throws -> [[UInt8]] {
        let rows = try self.connection.run(
            "select unlock_share, presence_share from wallet_values where id = $1",
            [.bytes(wallet.bytes)]
        )
        return try (0..<2).map { try #require(rows.bytes(0, $0)) }
    }
}
