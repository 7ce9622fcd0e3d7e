import PINPolicy
import PostgreSQLClient
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("A store that several servers rely on")
struct StoreOfServersTests {
    private let place: PostgreSQLPlace
    private let connection: PostgreSQLConnection
    private let reasons = Reasons()

    init() async throws {
        self.place = try await PostgreSQLPlace()
        self.connection = try self.place.connect()
    }

    /// A way in which the server writes its commits.
    enum Lane: CaseIterable, Sendable {
        case judging
        case transactions

        /// Lets a server write one commit in this way.
        func commit(by server: PostgreSQLWalletStore, of wallet: TestWallet) async throws {
            switch self {
            case .judging: _ = try await server.outcome(of: wallet.attempt(right: false))
            case .transactions: try await server.recordWipe(of: wallet.id, at: TestWallet.start)
            }
        }
    }

    @Test(
        "a database without a confirmed commit judges nothing on any server, until an epoch charges every wallet",
        arguments: Lane.allCases
    )
    func lostCommit(lane: Lane) async throws {
        let (first, second) = (try await self.open(as: "first"), try await self.open(as: "second"))
        let wallet = try await TestWallet(in: first)
        _ = try await second.outcome(of: wallet.attempt(right: true))
        let before = try self.backup()
        try await lane.commit(by: first, of: wallet)
        // As a restore does, or a failover to a member that lacks the last commit.
        try self.restore(before)
        try self.place.disconnect("first", by: self.connection)
        try await self.reconnect(first, lane, wallet)
        await #expect(throws: StoreError.unavailable, "also a server that lost no commit") {
            _ = try await second.outcome(of: wallet.attempt(right: true))
        }
        await #expect(throws: PostgreSQLStoreOpenError.lostCommits) { try await self.open(as: "third") }

        try await self.openEpoch(accountingFor: first.generation)
        let last = AttemptOutcome.notValid(.wrong(.open(attemptsLeft: 3, finalRound: true)))
        let outcome = try await self.untilReachable { try await second.outcome(of: wallet.attempt(right: false)) }
        #expect(outcome == last)
        let inUse = try await self.untilReachable { try await first.inUse([wallet.id]) }
        #expect(inUse == [wallet.id])
    }

    /// Opens the second epoch, which takes a number of the first server's commits into account.
    private func openEpoch(accountingFor generation: UInt64) async throws {
        var parts = self.place.parts(as: "recovery")
        parts.acceptsLostCommits = true
        let recovery = try await PostgreSQLWalletStore.open(parts)
        try await recovery.open(
            [StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])],
            with: [:],
            without: [],
            accountingFor: [AccountedCommits(server: "first", epoch: 1, total: generation)]
        )
        await recovery.close()
    }

    @Test("older rows that were put back under open connections are found by the next commit", arguments: Lane.allCases)
    func putBackUnderConnections(lane: Lane) async throws {
        let (first, second) = (try await self.open(as: "first"), try await self.open(as: "second"))
        let wallet = try await TestWallet(in: first)
        let before = try self.backup()
        for _ in 0..<2 { try await lane.commit(by: first, of: wallet) }
        try self.restore(before)
        await #expect(throws: (any Error).self) { try await lane.commit(by: first, of: wallet) }
        try await self.reconnect(first, lane, wallet)
        await #expect(throws: StoreError.unavailable) { _ = try await second.outcome(of: wallet.attempt(right: true)) }
    }

    @Test(
        "a server that was cut off while an epoch was opened continues only if the epoch accounts for its last commit",
        arguments: Lane.allCases,
        [true, false]
    )
    func cutOff(lane: Lane, isKnown: Bool) async throws {
        let (first, second) = (try await self.open(as: "first"), try await self.open(as: "second"))
        let wallet = try await TestWallet(in: first)
        _ = try await second.outcome(of: wallet.attempt(right: true))
        let before = try self.backup()
        try await lane.commit(by: first, of: wallet)
        try self.restore(before)
        try await self.openEpoch(accountingFor: first.generation - (isKnown ? 0 : 1))
        if isKnown {
            let last = AttemptOutcome.notValid(.wrong(.open(attemptsLeft: 3, finalRound: true)))
            #expect(try await first.outcome(of: wallet.attempt(right: false)) == last)
            #expect(try await first.inUse([wallet.id]) == [wallet.id])
        } else {
            await #expect(throws: StoreError.unavailable, "also on its open connections") {
                try await lane.commit(by: first, of: wallet)
            }
            await #expect(throws: StoreError.unavailable) {
                _ = try await second.outcome(of: wallet.attempt(right: true))
            }
            await #expect(throws: PostgreSQLStoreOpenError.lostCommits) { try await self.open(as: "third") }
        }
    }

    @Test("a commit in an epoch that the other lane has left is never reported")
    func leftEpoch() throws {
        let confirmed = try ConfirmedCommits(self.place.parts(as: "first"))
        try confirmed.note(5, of: .transactions, epoch: 1)
        try confirmed.note(5, of: .judging, epoch: 2)
        #expect(throws: PostgreSQLFailure.self) { try confirmed.note(6, of: .transactions, epoch: 1) }
        #expect(confirmed.total == 5)
    }

    @Test("commits that a server only found are confirmed by a later commit; until then their loss stops nothing")
    func foundCommits() async throws {
        let first = try await self.open(as: "first")
        _ = try await TestWallet(in: first)
        await first.close()
        let parts = self.place.parts(as: "first")
        let confirmed = try ConfirmedCommits(parts)
        func lose() throws { try self.place.connect().run("update commit_numbers set number = number - 1") }
        let session = try StoreSession(parts, confirmed)
        #expect(confirmed.total == 2, "a registration and a session")
        try lose()
        let next = try StoreSession(parts, confirmed)
        try confirmed.confirmFound { _ = try next.commit(.sql("update facts set lost_commits = false", [])) }
        #expect(throws: PostgreSQLStoreOpenError.lostCommits) { _ = try StoreSession(parts, confirmed) }
        session.connection.close()
    }

    @Test("an epoch takes commits into account by the end of a server's log, or by the numbers of each lane")
    func accounted() {
        var mark = CommitMark(server: "first")
        mark.numbers = [.judging: 7, .transactions: 3]
        func missing(_ numbers: [CommitLane: Int64], total: UInt64) -> UInt64 {
            AccountedCommits(mark).missing(
                in: AccountedCommits(server: "first", epoch: 1, numbers: numbers, total: total)
            )
        }
        #expect(missing([:], total: 10) == 0)
        #expect(missing([:], total: 9) == 10)
        #expect(missing([.judging: 7, .transactions: 3], total: 0) == 0)
        #expect(missing([.judging: 5, .transactions: 9], total: 0) == 2, "the lanes are compared separately")
        let ofLog = AccountedCommits(server: "first", epoch: 1, total: 12)
        #expect(ofLog.missing(in: AccountedCommits(mark)) == 2)
        #expect(AccountedCommits(CommitMark(server: "new")).missing(in: ofLog) == 0)
    }

    @Test("a restarted server remembers its confirmed commits, and stops all servers if one is lost")
    func lostCommitAfterRestart() async throws {
        let folder = TemporaryFolder()
        var parts = self.place.parts(as: "first")
        parts.commitMark = CommitMark.path(ofAuditLog: "\(folder.path)/audit.log")
        var first = try await PostgreSQLWalletStore.open(parts)
        let wallet = try await TestWallet(in: first)
        let before = try self.backup()
        _ = try await first.outcome(of: wallet.attempt(right: false))
        await first.close()
        first = try await .open(parts)
        #expect(first.generation == 3, "a registration, a session and an attempt")
        await first.close()
        let second = try await self.open(as: "second")
        try self.restore(before)
        await #expect(throws: PostgreSQLStoreOpenError.lostCommits) { try await PostgreSQLWalletStore.open(parts) }
        await #expect(throws: StoreError.unavailable) { _ = try await second.outcome(of: wallet.attempt(right: true)) }
    }

    @Test("a mark that was written in part is none; its numbers never fall within an epoch")
    func mark() throws {
        var mark = CommitMark(server: "pin-1.example")
        mark.numbers = [.judging: 70_000, .transactions: 3]
        #expect(CommitMark(decoding: mark.encoded()) == mark)
        for cut in [0, 30, 60] {
            var bytes = CommitMark(server: "pin-1.example").encoded()
            bytes.replaceSubrange(..<cut, with: mark.encoded()[..<cut])
            #expect(CommitMark(decoding: bytes)?.numbers[.judging] != 70_000)
        }
        var lower = mark
        lower.numbers[.judging] = 69_999
        #expect(!lower.contains(mark, nil) && mark.contains(lower, nil))
        var isRaised = mark.raise(to: lower)
        #expect(!isRaised)
        lower.epoch = 2
        #expect(!lower.contains(mark, nil) && !mark.contains(lower, nil))
        #expect(lower.contains(mark, AccountedCommits(mark)))
        #expect(lower.contains(CommitMark(server: "pin-1.example"), nil), "a new server")
        isRaised = mark.raise(to: lower)
        #expect(isRaised && mark == lower)
    }

    @Test("a lane that commits nothing notices the lost commits of the other lane", arguments: Lane.allCases)
    func noticedByAnyLane(lane: Lane) async throws {
        let first = try await self.open(as: "first")
        let wallet = try await TestWallet(in: first)
        _ = try await first.outcome(of: wallet.attempt(right: true))
        let before = try self.backup()
        try await lane.commit(by: first, of: wallet)
        try self.restore(before)
        try self.place.disconnect("first", by: self.connection)
        try await self.reconnect(first, lane == .judging ? .transactions : .judging, wallet)
        await #expect(throws: PostgreSQLStoreOpenError.lostCommits) { try await self.open(as: "third") }
    }

    @Test("a restored dump is another place, so no server opens it until an epoch is opened")
    func otherPlace() async throws {
        try self.connection.run("create schema other")
        try self.connection.run("alter table facts set schema other")
        try self.connection.run("create table facts (like other.facts including all)")
        try self.connection.run("insert into facts select * from other.facts")
        await #expect(throws: PostgreSQLStoreOpenError.restored) { try await self.open(as: "first") }
        var parts = self.place.parts(as: "recovery")
        parts.acceptsLostCommits = true
        try self.place.addLease(ofKilled: "past", by: self.connection)
        let recovery = try await PostgreSQLWalletStore.open(parts)
        let epoch = StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])
        let marks = ["first": StoredAuditMark(number: 7, mac: "1-ab")]
        try await recovery.open([epoch], with: marks, without: ["gone"], accountingFor: [])
        let first = try await self.open(as: "first")
        try await #expect(first.auditMark() == StoredAuditMark(number: 7, mac: "1-ab"))
        #expect(try self.connection.run("select count(*) from leases").number(0, 0) == 0, "leases of the past")
    }

    @Test("recording a loss, and changes before an epoch is opened, do not hide the number of lost commits")
    func uncounted() async throws {
        let first = try await self.open(as: "first")
        let wallet = try await TestWallet(in: first)
        let before = try self.backup()
        _ = try await first.outcome(of: wallet.attempt(right: false))
        await first.close()
        try self.restore(before)
        func numbers() throws -> String? {
            try self.connection.run(
                "select string_agg(lane || number, ' ' order by lane) from commit_numbers where server = 'first'"
            ).text(0, 0)
        }
        let lacking = try numbers()
        let noticing = try await self.open(as: "first")
        try await noticing.noteLostCommits()
        await noticing.close()
        #expect(try numbers() == lacking)
        var parts = self.place.parts(as: "first")
        parts.acceptsLostCommits = true
        let recovery = try await PostgreSQLWalletStore.open(parts)
        try await recovery.noteLostCommits()
        try await recovery.recordWipe(of: wallet.id, at: TestWallet.start)
        #expect(try numbers() == lacking)
        #expect(try await recovery.inUse([wallet.id]).isEmpty, "the wipe is kept")
    }

    @Test("a failover that keeps every confirmed commit needs no epoch")
    func keptCommits() async throws {
        let store = try await self.open(as: "first")
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        try self.place.disconnect("first", by: self.connection)
        _ = try await self.untilReachable { try await store.outcome(of: wallet.attempt(right: true)) }
        let epochs = try await self.untilReachable { try await store.epochs() }
        #expect(epochs.isEmpty)
    }

    @Test("a server with another policy does not judge, and names the setting; so do all after a change for all")
    func policy() async throws {
        var (strict, lenient) = (self.place.parts(as: "first"), self.place.parts(as: "second"))
        (strict.policy, lenient.policy) = (["attempts": "4", "lab": "no"], ["attempts": "9", "lab": "no"])
        try await self.setPolicy(strict)
        let store = try await PostgreSQLWalletStore.open(strict)
        let wallet = try await TestWallet(in: store)
        let difference = PolicyDifference(name: "attempts", kept: "4", here: "9")
        await #expect(throws: PostgreSQLStoreOpenError.otherPolicy([difference])) {
            _ = try await PostgreSQLWalletStore.open(lenient)
        }
        _ = try await store.outcome(of: wallet.attempt(right: true))
        try await self.setPolicy(lenient)
        await #expect(throws: StoreError.unavailable) { _ = try await store.outcome(of: wallet.attempt(right: true)) }
        _ = try await PostgreSQLWalletStore.open(lenient).outcome(of: wallet.attempt(right: true))
    }

    private func setPolicy(_ parts: StoreParts) async throws {
        var parts = parts
        parts.acceptsOtherPolicy = true
        let store = try await PostgreSQLWalletStore.open(parts)
        try await store.setPolicy()
        #expect(try await store.policyDifferences().isEmpty)
    }

    private func open(as name: String) async throws -> PostgreSQLWalletStore {
        var parts = self.place.parts(as: name)
        parts.onRefusal = { [reasons = self.reasons] reason, _ in reasons.receive(reason) }
        return try await .open(parts)
    }

    /// Runs a step until the store has connected again.
    private func untilReachable<Answer>(_ step: () async throws -> Answer) async throws -> Answer {
        var answer: Answer?
        try await poll {
            do { answer = try await step() } catch StoreError.unavailable, StoreError.outcomeUnknown {}
            return answer != nil
        }
        return try #require(answer)
    }

    /// Makes a lane of the server connect again.
    private func reconnect(_ store: PostgreSQLWalletStore, _ lane: Lane, _ wallet: TestWallet) async throws {
        // The first step finds the connection closed, and a later one connects.
        try await poll {
            await #expect(throws: StoreError.self, "a database that lacks a commit was used") {
                switch lane {
                case .judging: _ = try await store.identity(of: wallet.id)
                case .transactions: _ = try await store.isSolutionRevoked()
                }
            }
            return self.reasons.contain("\(PostgreSQLStoreOpenError.lostCommits)")
        }
    }

    /// The tables that a commit of a wallet writes.
    private static let tables = ["wallets", "wallet_values", "ended", "commit_numbers"]

    /// Copies the tables.
    private func backup() throws -> [String] {
        try self.connection.run("create schema saved")
        for table in Self.tables { try self.connection.run("create table saved.\(table) as table \(table)") }
        return Self.tables
    }

    private func restore(_ tables: [String]) throws {
        for table in tables {
            try self.connection.run("delete from \(table)")
            let values = "overriding system value select * from saved.\(table)"
            try self.connection.run("insert into \(table) \(values)")
        }
    }
}
