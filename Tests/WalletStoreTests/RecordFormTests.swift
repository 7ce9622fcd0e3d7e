import PINPolicy
import Secrets
import Testing
import Vocabulary

@testable import WalletStore

@Suite("A wider form of attempt records")
struct RecordFormTests {
    @Test(
        "records are rewritten in steps while PINs are judged, across a step that is undone and a restart",
        arguments: StoreKind.allCases
    )
    func rewritten(kind: StoreKind) async throws {
        let place = try await kind.place()
        let old = try await place.open()
        var wallets: [TestWallet] = []
        for _ in 0..<12 { wallets.append(try await TestWallet(in: old)) }
        for wallet in wallets { _ = try await old.outcome(of: wallet.attempt(right: false)) }
        try await old.recordWipe(of: wallets[4].id, at: TestWallet.start)
        let first = KeptAttempts.byteCount(of: .first)
        #expect(try await old.perform(Widths()) == Array(repeating: first, count: 12))
        await old.close()

        let killed = try await place.open(by: .wide)
        let cursor = try await killed.checkRecords(after: nil, limit: 4).next
        let page = try await killed.perform(DamagedWallets(after: cursor, limit: 4)).earlier
        #expect(page == wallets[4..<8].map(\.id))
        await #expect(throws: StoreError.unavailable) { try await killed.perform(RewrittenAndUndone(page)) }
        await killed.close()

        let store = try await place.open(by: .wide)
        let wide = KeptAttempts.byteCount(of: .wide)
        #expect(try await store.perform(Widths()) == (0..<12).map { $0 < 4 ? wide : first })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for wallet in wallets where wallet.id != wallets[4].id {
                group.addTask {
                    for left in [2, 1] {
                        let verdict = PINVerdict.wrong(.open(attemptsLeft: left, finalRound: false))
                        let outcome = try await store.outcome(of: wallet.attempt(right: false))
                        #expect(outcome == .notValid(verdict))
                    }
                }
            }
            group.addTask {
                var next: UInt64?
                repeat { next = try await store.checkRecords(after: next, limit: 2).next } while next != nil
            }
            try await group.waitForAll()
        }
        #expect(try await store.perform(Widths()) == Array(repeating: wide, count: 12))
        for wallet in wallets where wallet.id != wallets[4].id {
            #expect(try await store.report(of: wallet.id)?.attempts?.failures == 3)
        }
        await store.close()
    }

    @Test(
        "a right and a wrong PIN leave a record as wide as it was, in each form",
        arguments: StoreKind.allCases,
        [RecordKey.reading, .wide]
    )
    func width(kind: StoreKind, registering: RecordKey) async throws {
        let place = try await kind.place()
        let first = try await place.open(by: registering)
        var wallet = try await TestWallet(in: first)
        await first.close()
        for key in [RecordKey.reading, .wide] {
            let store = try await place.open(by: key)
            for right in [false, true, true, false, true] {
                let judged = try await store.outcome(of: wallet.attempt(right: right))
                if case .valid = judged { #expect(right) } else { #expect(!right) }
                // Also an instruction that writes the wallet's row.
                let identity = TestWallet.bytes(300)
                let effect = Attempt.Effect.replacePINKey(identity: identity, newKeyID: wallet.keyID)
                _ = try await store.outcome(of: wallet.attempt(right: right, effect: effect))
                if right { wallet.identity = identity }
                #expect(try await store.perform(Widths()) == [KeptAttempts.byteCount(of: registering.form)])
            }
            await store.close()
        }
    }

    @Test("a server that writes the narrow form leaves wide records as they are", arguments: StoreKind.allCases)
    func widensOnly(kind: StoreKind) async throws {
        let place = try await kind.place()
        let wide = try await place.open(by: .wide)
        let wallet = try await TestWallet(in: wide)
        await wide.close()
        let reading = try await place.open(by: .reading)
        _ = try await TestWallet(in: reading)
        let widths = [AttemptRecord.Form.wide, .first].map { KeptAttempts.byteCount(of: $0) }
        #expect(try await reading.checkRecords(after: nil, limit: 9).wallets.isEmpty)
        try await reading.perform(RewriteRecords([wallet.id]))
        #expect(try await reading.perform(Widths()) == widths)
        await reading.close()
    }

    @Test("a damaged record is reported and stays as it is", arguments: [StoreKind.sqlite, .postgreSQL])
    func damaged(kind: StoreKind) async throws {
        let place = try await kind.place()
        let old = try await place.open()
        let (damaged, other) = (try await TestWallet(in: old), try await TestWallet(in: old))
        await old.close()
        switch kind {
        case .postgreSQL:
            try place.change(
                """
                update wallets set record = '\\x00'::bytea || substring(record from 2)
                where id = (select id from wallet_values where place = 1)
                """
            )
        default: try place.change("UPDATE attempts SET record = zeroblob(62) WHERE wallet = 1")
        }
        let store = try await place.open(by: .wide)
        #expect(try await store.checkRecords(after: nil, limit: 9).wallets == [damaged.id])
        let widths = [AttemptRecord.Form.first, .wide].map { KeptAttempts.byteCount(of: $0) }
        #expect(try await store.perform(Widths()) == widths)
        _ = try await store.outcome(of: other.attempt(right: true))
        await #expect(throws: StoreError.corrupt) { try await store.outcome(of: damaged.attempt(right: true)) }
        await store.close()
    }
}

extension AttemptRecord.Form {
    /// The form of a later version.
    static let wide = Self(number: 2, byteCount: 70)
}

extension RecordKey {
    /// The key in a version that reads the wide form and does not write it.
    static let reading = RecordKey(RecordKey.secret(1), reading: [.first, .wide])
    /// The key in a version that writes the wide form.
    static let wide = RecordKey(RecordKey.secret(1), reading: [.first, .wide], writing: .wide)
}

/// Returns the lengths of all attempt records.
struct Widths: StoreStep {
    static let access = StepAccess.reading

    func run(in rows: some Rows) throws -> [Int] {
        try rows.records(.next(after: nil, limit: 1000)).wallets.map { $0.whole?.attempts.count ?? 0 }
    }
}

/// Rewrites records, and fails before the commit.
private struct RewrittenAndUndone: StoreStep {
    let step: RewriteRecords
    static let access = StepAccess.writing

    init(_ wallets: [WalletID]) { self.step = RewriteRecords(wallets) }

    func run(in rows: some Rows) throws {
        try self.step.run(in: rows)
        throw StoreError.unavailable
    }
}
