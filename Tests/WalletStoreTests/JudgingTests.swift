import Testing
import Vocabulary
import WalletStore

@Suite("Counting and judging in one commit")
struct JudgingTests {
    private let threeLeft = AttemptOutcome.notValid(.wrong(.open(attemptsLeft: 3, finalRound: false)))

    @Test(
        "a right PIN gets the unlock share, a wrong one its verdict; the right one restores every attempt",
        arguments: StoreKind.allCases
    )
    func verdicts(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        try await #expect(store.outcome(of: wallet.attempt(right: false)) == self.threeLeft)
        let share = TestWallet.bytes(80)
        let other = try await TestWallet(in: store, unlockShare: share)
        try await #expect(store.outcome(of: other.attempt(right: true)) == .valid(.unlockShare(share, next: nil)))
        guard case .valid = try await store.outcome(of: wallet.attempt(right: true)) else {
            Issue.record("not valid")
            return
        }
        try await #expect(store.outcome(of: wallet.attempt(right: false)) == self.threeLeft)
    }

    @Test(
        "a session with an older PIN key is rejected before any judgment and gets the values that it lacks",
        arguments: StoreKind.allCases
    )
    func staleKeys(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let old = try await TestWallet(in: store)
        var new = old
        new.keyID = .random()
        new.pinKey = try TestWallet.publicKey()
        new.identity = TestWallet.bytes(300)
        let change = Attempt.Effect.replacePINKey(identity: new.identity, newKeyID: new.keyID)
        try await #expect(store.outcome(of: old.attempt(right: true, effect: change)) == .valid(.pinKeyReplaced))

        try await #expect(
            store.outcome(of: old.attempt(right: true)) == .pinKeyChanged(current: new.keyID),
            "the old PIN no longer counts"
        )
        var halfOld = try old.attempt(right: true)
        halfOld.namedKeyID = new.keyID
        try await #expect(store.outcome(of: halfOld) == .identityChanged)
        try await #expect(
            store.outcome(of: old.attempt(right: true, effect: change)) == .pinKeyChanged(current: new.keyID)
        )
        try await #expect(store.outcome(of: new.attempt(right: false)) == self.threeLeft, "none of these was counted")
        try await #expect(store.identity(of: old.id)?.identity == new.identity)
    }

    @Test(
        "a session with an older identity is rejected also if the id of its PIN key is current again",
        arguments: StoreKind.allCases
    )
    func reusedKeyID(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let first = try await TestWallet(in: store)
        var (second, third) = (first, first)
        second.keyID = .random()
        second.identity = TestWallet.bytes(300)
        second.pinKey = try TestWallet.publicKey()
        third.identity = TestWallet.bytes(300)
        third.pinKey = try TestWallet.publicKey()
        for (old, new) in [(first, second), (second, third)] {
            let change = Attempt.Effect.replacePINKey(identity: new.identity, newKeyID: new.keyID)
            try await #expect(store.outcome(of: old.attempt(right: true, effect: change)) == .valid(.pinKeyReplaced))
        }
        try await #expect(store.outcome(of: first.attempt(right: true)) == .identityChanged)
        try await #expect(store.outcome(of: third.attempt(right: false)) == self.threeLeft, "nothing was counted")
    }

    @Test("without the PIN key, an attempt is neither judged nor counted", arguments: StoreKind.allCases)
    func withoutPINKey(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        for isRight in [true, false] {
            var attempt = try wallet.attempt(right: isRight)
            attempt.pinKey = nil
            try await #expect(store.outcome(of: attempt) == .identityChanged)
        }
        try await #expect(store.outcome(of: wallet.attempt(right: false)) == self.threeLeft, "nothing was counted")
    }

    @Test(
        "a wrong PIN changes no PIN key, links no recovery code and reads no deletion code",
        arguments: StoreKind.allCases
    )
    func effectsOfWrongPINs(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store, deletionDigest: TestWallet.digest())
        let mac = TestWallet.bytes(32)
        let effects: [Attempt.Effect] = [
            .replacePINKey(identity: TestWallet.bytes(300), newKeyID: .random()), .linkRecoveryCode(mac: mac),
            .readDeletionCode,
        ]
        for (index, effect) in effects.enumerated() {
            let left = PINVerdict.wrong(.open(attemptsLeft: 3 - index, finalRound: false))
            try await #expect(store.outcome(of: wallet.attempt(right: false, effect: effect)) == .notValid(left))
        }
        try await #expect(store.identity(of: wallet.id)?.identity == wallet.identity)
        try await #expect(store.revoke(recoveryCode: TestWallet.mac(mac), at: TestWallet.start).ended == 0)
        guard case .valid(.unlockShare) = try await store.outcome(of: wallet.attempt(right: true)) else {
            Issue.record("the key on file is not the old one")
            return
        }
    }

    @Test(
        "the deletion code is read with the right PIN; the answer says if the wallet has none",
        arguments: StoreKind.allCases
    )
    func deletionCode(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let with = try await TestWallet(in: store, deletionDigest: TestWallet.digest())
        let without = try await TestWallet(in: store)
        guard
            case .valid(.deletionCode(let code?)) = try await store.outcome(
                of:
                    with.attempt(right: true, effect: .readDeletionCode)
            )
        else {
            Issue.record("no code")
            return
        }
        #expect(code.count == 60)
        try await #expect(
            store.outcome(of: without.attempt(right: true, effect: .readDeletionCode)) == .valid(.deletionCode(nil))
        )
    }

    @Test(
        "the first reason not to judge wins: revoked, another PIN key, another identity, blocked, repeated",
        arguments: StoreKind.allCases
    )
    func order(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store, deletionDigest: TestWallet.digest())
        let last = AttemptID.random()
        for _ in 0..<3 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        _ = try await store.outcome(of: wallet.attempt(right: false, id: last))
        let after = TestWallet.start + .seconds(60)

        var repeated = try wallet.attempt(right: true, id: last, now: after)
        try await #expect(
            store.outcome(of: repeated) == .notValid(.wrong(.open(attemptsLeft: 4, finalRound: false)))
        )
        repeated.now = TestWallet.start
        try await #expect(store.outcome(of: repeated) == .notValid(.blocked(remaining: .seconds(60))))
        repeated.identity = TestWallet.bytes(300)
        try await #expect(store.outcome(of: repeated) == .identityChanged)
        repeated.namedKeyID = .random()
        try await #expect(store.outcome(of: repeated) == .pinKeyChanged(current: wallet.keyID))
        try await #expect(store.setSolutionRevoked(true))
        let solution = Revocation(reason: .solution, mayRegisterAnew: false)
        try await #expect(store.outcome(of: repeated) == .revoked(solution))
        try await store.recordWipe(of: wallet.id, at: TestWallet.start)
        try await #expect(store.outcome(of: repeated) == .revoked(.byWipe))
    }

    @Test(
        "repeating the last wrong attempt costs nothing and gives no oracle for another PIN",
        arguments: StoreKind.allCases
    )
    func repetition(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        let attempt = AttemptID.random()
        for right in [false, false, true] {
            try await #expect(store.outcome(of: wallet.attempt(right: right, id: attempt)) == self.threeLeft)
        }
    }

    @Test("a clock that was set back is detected once, durably", arguments: StoreKind.allCases)
    func clockSetBack(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        for _ in 0..<4 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        let yesterday = TestWallet.start + .seconds(-86_400)
        let blocked = AttemptOutcome.notValid(.blocked(remaining: .seconds(60)))
        try await #expect(store.outcome(of: wallet.attempt(right: true, now: yesterday)) == blocked)
        await store.close()
        let again = try await place.open()
        try await #expect(
            again.outcome(of: wallet.attempt(right: true, now: yesterday + .seconds(20)))
                == .notValid(.blocked(remaining: .seconds(40)))
        )
    }

    @Test("counts, blocks and the last attempt survive a restart", arguments: StoreKind.allCases)
    func reopened(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        let attempt = AttemptID.random()
        try await #expect(store.outcome(of: wallet.attempt(right: false, id: attempt)) == self.threeLeft)
        await store.close()
        let again = try await place.open()
        try await #expect(again.outcome(of: wallet.attempt(right: true, id: attempt)) == self.threeLeft)
        let two = PINVerdict.wrong(.open(attemptsLeft: 2, finalRound: false))
        try await #expect(again.outcome(of: wallet.attempt(right: false)) == .notValid(two))
    }

    @Test("a closed store counts nothing and reports itself unavailable", arguments: StoreKind.allCases)
    func closed(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        await store.close()
        await #expect(throws: StoreError.unavailable) { try await store.outcome(of: wallet.attempt(right: false)) }
    }
}
