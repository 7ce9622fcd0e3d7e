import TestSupport
import Testing
import Vocabulary
import WalletStore

@Suite("Registrations and first sessions")
struct RegistrationTests {
    @Test(
        "a registration repeated before the first session replaces the earlier one: one wallet, one PIN",
        arguments: StoreKind.allCases
    )
    func repeated(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let first = try await TestWallet(in: store, opened: false)
        var second = first
        second.keyID = .random()
        second.pinKey = try TestWallet.publicKey()
        second.identity = TestWallet.bytes(300)
        try await #expect(store.register(second.registration()) == .registered(receiptVersion: nil))
        try await #expect(first.session() == .identityChanged)
        guard case .active(second.keyID, .open(4, false), .some, nil, nil, _) = try await second.session() else {
            Issue.record("not active")
            return
        }
        try await #expect(store.outcome(of: first.attempt(right: true)) == .pinKeyChanged(current: second.keyID))
    }

    @Test(
        "the first session uses up the token; so do a revocation and another hardware key",
        arguments: StoreKind.allCases
    )
    func tokenUsed(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store, opened: false)
        let other = try wallet.registration(hardwareKey: TestWallet.digest())
        try await #expect(store.register(other) == .tokenUsed)
        try await #expect(store.identity(of: wallet.id)?.mayRegisterAgain == true)
        try await wallet.session()
        try await #expect(store.register(wallet.registration()) == .tokenUsed)
        try await #expect(store.identity(of: wallet.id)?.mayRegisterAgain == false)

        let wiped = try await TestWallet(in: store, opened: false)
        try await store.recordWipe(of: wiped.id, at: TestWallet.start)
        try await #expect(store.register(wiped.registration()) == .tokenUsed)
        try await #expect(store.identity(of: wiped.id)?.mayRegisterAgain == false)
    }

    @Test(
        "a hardware key whose wallet ended through its recovery code cannot register again, even after a purge",
        arguments: StoreKind.allCases
    )
    func barred(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        for mayRegisterAnew in [false, true] {
            let wallet = try await TestWallet(in: store)
            let end = Revocation(reason: mayRegisterAnew ? .wallet : .recoveryCode, mayRegisterAnew: mayRegisterAnew)
            _ = try await store.end([wallet.id], as: end, at: TestWallet.start)
            var registration = wallet.registration()
            registration.walletID = .random()
            let expected: RegisterOutcome = mayRegisterAnew ? .registered(receiptVersion: nil) : .hardwareKeyBarred
            try await #expect(store.register(registration) == expected)
            _ = try await store.purge([wallet.id], endedBefore: TestWallet.start + .seconds(1))
            registration.walletID = .random()
            try await #expect(store.register(registration) == expected)
        }
    }

    @Test(
        "an assertion's counter is accepted once: each repeated registration and each session needs a greater one",
        arguments: StoreKind.allCases
    )
    func counters(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store, assertionCounter: 1, opened: false)
        let repetition = wallet.registration(assertionCounter: 1)
        try await #expect(store.register(repetition) == .counterNotIncreased)
        try await #expect(store.register(wallet.registration(assertionCounter: 2)) == .registered(receiptVersion: nil))
        try await #expect(wallet.session(counter: 2) == .counterNotIncreased)
        try await #expect(wallet.session(counter: nil) == .counterNotIncreased)
        guard case .active = try await wallet.session(counter: 3) else {
            Issue.record("not active")
            return
        }
        try await #expect(wallet.session(counter: 3) == .counterNotIncreased)
    }

    @Test("one counter in many parallel sessions opens exactly one", arguments: StoreKind.allCases)
    func racingCounters(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store, assertionCounter: 1, opened: false)
        let opened = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 {
                group.addTask { try await wallet.session(counter: 7) != .counterNotIncreased }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(opened == 1)
    }

    @Test(
        "a session reports the PIN's state and counts, and gives the presence share unless blocked permanently",
        arguments: StoreKind.allCases
    )
    func states(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let share = TestWallet.bytes(80)
        let wallet = try await TestWallet(in: store, presenceShare: share)
        for _ in 0..<4 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        try await #expect(
            wallet.session()
                == .active(
                    pinKeyID: wallet.keyID,
                    pinState: .blocked(remaining: .seconds(60)),
                    presenceShare: share,
                    nextPresenceShare: nil,
                    receiptVersion: nil,
                    attempts: AttemptCounts(number: 4, wrongPINs: 4, lastWrong: TestWallet.start, epoch: 1)
                )
        )
        let single = try #require(AttemptPolicy(rounds: 1, attemptsPerRound: 1, blocks: []))
        let after = TestWallet.start + .seconds(60)
        _ = try await store.outcome(of: wallet.attempt(right: false, policy: single, now: after))
        try await #expect(
            wallet.session()
                == .active(
                    pinKeyID: wallet.keyID,
                    pinState: .blockedPermanently,
                    presenceShare: nil,
                    nextPresenceShare: nil,
                    receiptVersion: nil,
                    attempts: AttemptCounts(number: 5, wrongPINs: 5, lastWrong: after, epoch: 1)
                )
        )
    }

    @Test("an unknown wallet has no identity and no session", arguments: StoreKind.allCases)
    func unknown(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var wallet = try await TestWallet(in: store)
        try await #expect(store.identity(of: .random()) == nil)
        wallet.identity = TestWallet.bytes(300)
        try await #expect(wallet.session() == .identityChanged)
    }

    @Test("registrations without a session are swept; all others and all counts stay", arguments: StoreKind.allCases)
    func sweep(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let unopened = try await TestWallet(in: store, opened: false)
        let opened = try await TestWallet(in: store)
        let counted = try await TestWallet(in: store)
        _ = try await store.outcome(of: opened.attempt(right: true))
        _ = try await store.outcome(of: counted.attempt(right: false))
        try await #expect(store.sweep(unopenedSince: TestWallet.start) == 0)
        try await #expect(store.sweep(unopenedSince: TestWallet.start + .milliseconds(1)) == 1)
        try await #expect(store.identity(of: unopened.id) == nil)
        for (wallet, left) in [(opened, 3), (counted, 2)] {
            let verdict = PINVerdict.wrong(.open(attemptsLeft: left, finalRound: false))
            try await #expect(store.outcome(of: wallet.attempt(right: false)) == .notValid(verdict))
        }
    }

    @Test("a swept wallet is not confused with the wallet that reuses its row", arguments: StoreKind.allCases)
    func sameRow(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let gone = try await TestWallet(in: store, opened: false)
        _ = try await store.outcome(of: gone.attempt(right: true))
        try await #expect(store.sweep(unopenedSince: TestWallet.start + .milliseconds(1)) == 1)
        let wallet = try await TestWallet(in: store, opened: false)
        await #expect(throws: StoreError.corrupt) { try await store.outcome(of: gone.attempt(right: false)) }
        let verdict = PINVerdict.wrong(.open(attemptsLeft: 3, finalRound: false))
        try await #expect(store.outcome(of: wallet.attempt(right: false)) == .notValid(verdict))
    }

    @Test("a sweep of more rows than one step takes removes them all", arguments: StoreKind.allCases)
    func largeSweep(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        for _ in 0..<1201 { _ = try await TestWallet(in: store, opened: false) }
        try await #expect(store.sweep(unopenedSince: TestWallet.start + .milliseconds(1)) == 1201)
    }
}
