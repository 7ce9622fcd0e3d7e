import SQLiteClient
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// The answer of a step whose caller is not part of the test.
private let nothing: @Sendable () -> Void = {}

/// A session uses the row that was read for its proof, so these tests change the wallet in between.
@Suite("Sessions and the reads that precede them")
struct SessionTests {
    @Test("a session needs one read of the store, which serves one session")
    func oneRead() async throws {
        let folder = TemporaryFolder()
        let store = try folder.store()
        let wallet = try await TestWallet(in: store)
        _ = try await store.identity(of: wallet.id)
        await store.close()
        guard case .active(wallet.keyID, .open(4, false), .some, nil, nil, _) = try await wallet.session() else {
            Issue.record("not active")
            return
        }
        await #expect(throws: StoreError.unavailable) { try await wallet.session() }
    }

    @Test("a first session and an assertion's counter are stored, also after a read", arguments: StoreKind.allCases)
    func stored(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let first = try await TestWallet(in: store, opened: false)
        _ = try await store.identity(of: first.id)
        try await first.session()
        try await #expect(store.identity(of: first.id)?.mayRegisterAgain == false)

        let apple = try await TestWallet(in: store, assertionCounter: 0)
        for _ in 0..<2 {
            _ = try await store.identity(of: apple.id)
            _ = try await apple.session(counter: 2)
        }
        _ = try await store.identity(of: apple.id)
        try await #expect(apple.session(counter: 2) == .counterNotIncreased)
    }

    @Test(
        "a session after a revocation is refused, also if the wallet was read before it",
        arguments: StoreKind.allCases
    )
    func revoked(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
        let wallet = try await TestWallet(in: store)
        _ = try await store.identity(of: wallet.id)
        _ = try await store.revoke(wallets: [wallet.id], at: TestWallet.start)
        try await #expect(wallet.session() == .revoked(revocation))

        let purged = try await TestWallet(in: store)
        _ = try await store.revoke(wallets: [purged.id], at: TestWallet.start)
        _ = try await store.identity(of: purged.id)
        _ = try await store.purge([purged.id], endedBefore: TestWallet.start + .seconds(1))
        try await #expect(purged.session() == .identityChanged)
    }

    @Test(
        "a session after the revocation of the solution is refused, and works again after it is lifted",
        arguments: StoreKind.allCases
    )
    func solutionRevoked(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        _ = try await store.identity(of: wallet.id)
        _ = try await store.setSolutionRevoked(true)
        try await #expect(wallet.session() == .revoked(Revocation(reason: .solution, mayRegisterAnew: false)))
        _ = try await store.identity(of: wallet.id)
        _ = try await store.setSolutionRevoked(false)
        guard case .active = try await wallet.session() else {
            Issue.record("not active")
            return
        }
    }

    @Test(
        "a session after wrong PINs or a change of the PIN reports them, also if the wallet was read before",
        arguments: StoreKind.allCases
    )
    func judgedInBetween(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var wallet = try await TestWallet(in: store)
        _ = try await store.identity(of: wallet.id)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        guard case .active(_, .open(3, false), _, _, _, _) = try await wallet.session() else {
            Issue.record("the wrong PIN is missing")
            return
        }
        _ = try await store.identity(of: wallet.id)
        let (identity, keyID) = (TestWallet.bytes(300), PINKeyID.random())
        let change = Attempt.Effect.replacePINKey(identity: identity, newKeyID: keyID)
        _ = try await store.outcome(of: wallet.attempt(right: true, effect: change))
        try await #expect(wallet.session() == .identityChanged)
        (wallet.identity, wallet.keyID) = (identity, keyID)
        guard case .active(keyID, _, _, _, _, _) = try await wallet.session() else {
            Issue.record("the new PIN key is missing")
            return
        }
    }

    @Test("no session finds the count of an attempt that is not committed yet")
    func uncommitted() async throws {
        let states = Mutex<[SessionOutcome?]>([])
        try await BatchWriterTests.withWallet { writer, wallet in
            let session = NewSession(
                walletID: wallet.id,
                identity: wallet.identity,
                assertionCounter: nil,
                policy: .standard,
                now: TestWallet.start
            )
            let attempt = try wallet.attempt(right: false)
            writer.run([
                CommitQueue.PendingStep(
                    run: { connection in
                        _ = try connection.step(attempt)
                        _ = try connection.identity(of: wallet.id)
                        states.withLock { $0.append(connection.known.openings.begin(session)) }
                        return nothing
                    },
                    refuse: { _ in }
                )
            ])
        }
        #expect(states.withLock(\.self) == [nil])
    }

    @Test("a step that only reads runs between two transactions, and never within one")
    func readsApart() async throws {
        let statements = Mutex<[String]>([])
        try await BatchWriterTests.withWallet { writer, wallet in
            writer.connection.db.trace { statement in statements.withLock { $0.append(statement) } }
            let read = CommitQueue.PendingStep(
                run: { _ in nothing },
                refuse: { _ in },
                read: { connection in
                    let isKnown = try connection.identity(of: wallet.id) != nil
                    return { statements.withLock { $0.append("answer \(isKnown)") } }
                }
            )
            #expect(writer.answerRead(read))
            #expect(!writer.answerRead(CommitQueue.PendingStep(run: { _ in nothing }, refuse: { _ in })))
        }
        let all = statements.withLock(\.self)
        #expect(all.last == "answer true")
        #expect(!all.contains { $0.hasPrefix("BEGIN") || $0.hasPrefix("COMMIT") })
        await #expect(processExitsWith: .failure) {
            try BatchWriterTests.withWriter { writer in
                try writer.connection.begin()
                let step = CommitQueue.PendingStep(run: { _ in nothing }, refuse: { _ in }, read: { _ in nothing })
                _ = writer.answerRead(step)
            }
        }
    }
}
