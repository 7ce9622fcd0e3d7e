import PostgreSQLClient
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

/// The commits of these tests wait for a standby that does not exist.
@Suite("Commits that the database does not confirm")
struct CommitTests {
    private let place: PostgreSQLPlace
    private let connection: PostgreSQLConnection
    private let wallet: TestWallet

    /// Registers a wallet; commits wait only for sessions that are opened afterwards.
    init() async throws {
        self.place = try await PostgreSQLPlace()
        self.connection = try self.place.connect()
        let store = try await self.place.open()
        self.wallet = try await TestWallet(in: store)
        await store.close()
        _ = try self.connection.run("alter database \(self.place.database) set synchronous_commit = on")
    }

    /// A way in which a commit is left without a confirmation.
    enum Fault: CaseIterable, Sendable {
        /// The wait is cancelled: the commit succeeds with the notice 01000.
        case cancelled
        /// The server process ends while it waits: the notice 57P01, and the connection is lost.
        case terminated
        /// The wait lasts longer than the store's limit.
        case late
    }

    @Test(
        "an attempt whose commit is not confirmed gets no verdict, is counted once, and its repetition is answered",
        arguments: Fault.allCases
    )
    func unconfirmed(fault: Fault) async throws {
        let store = try await self.waitingStore(until: fault)
        let attempt = try self.wallet.attempt(right: false)
        let answer = Task { try await store.outcome(of: attempt) }
        try await self.expectUnknown(answer, after: fault)

        let local = try await self.localStore()
        let threeLeft = AttemptOutcome.notValid(.wrong(.open(attemptsLeft: 3, finalRound: false)))
        try await #expect(local.outcome(of: attempt) == threeLeft, "it was counted, and only once")
        await store.close()
    }

    @Test("a right PIN whose commit is not confirmed releases no share; so does a session")
    func noShare() async throws {
        for isSession in [false, true] {
            let store = try await PostgreSQLWalletStore.open(self.place.parts(.replicated, as: "waiting"))
            let wallet = UsedWallet(store: store, wallet: self.wallet)
            let answer = Task { try await isSession ? wallet.use() : wallet.unlock() }
            try await self.onWaitingProcess("pg_cancel_backend")
            await #expect(throws: StoreError.outcomeUnknown) { try await answer.value }
            await store.close()
        }
    }

    @Test(
        "a change in a transaction whose commit is not confirmed is reported as unknown",
        arguments: Fault.allCases
    )
    func transaction(fault: Fault) async throws {
        let store = try await self.waitingStore(until: fault)
        let id = self.wallet.id
        let done = Task { try await store.recordWipe(of: id, at: TestWallet.start) }
        try await self.expectUnknown(done, after: fault)
        try await #expect(self.localStore().report(of: self.wallet.id)?.revocation == .byWipe)
        await store.close()
    }

    @Test(
        "a commit that stops waiting because its standby is removed from the settings is not believed",
        arguments: [false, true]
    )
    func released(isTransaction: Bool) async throws {
        let place = try await PostgreSQLPlace(in: PostgreSQLCluster())
        let local = try await place.open()
        let wallet = try await TestWallet(in: local)
        await local.close()
        let connection = try place.connect()
        try connection.run("alter database \(place.database) set synchronous_commit = on")
        let store = try await PostgreSQLWalletStore.open(place.parts(.replicated))
        let attempt = try wallet.attempt(right: false)
        let answer = Task {
            if isTransaction {
                try await store.recordWipe(of: wallet.id, at: TestWallet.start)
            } else {
                _ = try await store.outcome(of: attempt)
            }
        }
        let waiting = "select from pg_stat_activity where wait_event = 'SyncRep'"
        try await poll { try connection.run(waiting).count > 0 }
        try connection.run("alter system set synchronous_standby_names = ''")
        try connection.run("select pg_reload_conf()")
        await #expect(throws: StoreError.outcomeUnknown) { try await answer.value }
        await store.close()
    }

    /// Opens a store whose commits wait for a standby.
    private func waitingStore(until fault: Fault) async throws -> PostgreSQLWalletStore {
        let limit: Duration = fault == .late ? .seconds(5) : PostgreSQLCluster.longest
        return try await .open(self.place.parts(.replicated, limit: limit, as: "waiting"))
    }

    /// Makes a commit fail that waits, and expects its step to report that.
    private func expectUnknown(_ step: Task<some Sendable, any Error>, after fault: Fault) async throws {
        switch fault {
        case .cancelled: try await self.onWaitingProcess("pg_cancel_backend")
        case .terminated: try await self.onWaitingProcess("pg_terminate_backend")
        case .late: break
        }
        await #expect(throws: StoreError.outcomeUnknown) { _ = try await step.value }
        // It would wait, with the row locked, until a standby comes.
        if fault == .late { try await self.onWaitingProcess("pg_terminate_backend") }
    }

    /// Calls a function of the database with the process that waits for a standby, as soon as it does.
    private func onWaitingProcess(_ function: String) async throws {
        try await poll {
            let called = try self.connection.run(
                """
                select \(function)(pid), pg_sleep(0.01) from pg_stat_activity
                where application_name = 'waiting' and wait_event = 'SyncRep' and datname = $1
                """,
                [.text(self.place.database)]
            )
            return called.count > 0
        }
    }

    private func localStore() async throws -> PostgreSQLWalletStore {
        _ = try self.connection.run("alter database \(self.place.database) set synchronous_commit = local")
        return try await self.place.open()
    }

    private struct UsedWallet: Sendable {
        let store: PostgreSQLWalletStore
        let wallet: TestWallet

        func unlock() async throws { _ = try await self.store.outcome(of: self.wallet.attempt(right: true)) }

        func use() async throws {
            _ = try await self.store.beginSession(
                NewSession(
                    walletID: self.wallet.id,
                    identity: self.wallet.identity,
                    assertionCounter: nil,
                    policy: .standard,
                    now: TestWallet.start
                )
            )
        }
    }
}
