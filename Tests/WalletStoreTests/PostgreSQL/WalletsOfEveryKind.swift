import PINPolicy
import Testing
import Vocabulary

@testable import WalletStore

/// Wallets of every kind, in a store with every fact.
struct WalletsOfEveryKind {
    var fresh, twoWrong, blocked, blockedForGood, revoked, wiped, denied, offered, counted: TestWallet
    let share = TestWallet.bytes(80)
    let next = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
    let digest: SHA256Digest
    let mac = TestWallet.bytes(32)
    let purged: SHA256Digest

    var all: [TestWallet] {
        [
            self.fresh, self.twoWrong, self.blocked, self.blockedForGood, self.revoked, self.wiped, self.denied,
            self.offered, self.counted,
        ]
    }

    init(in store: SQLiteWalletStore) async throws {
        let later = Timestamp(milliseconds: TestWallet.start.milliseconds + 1)
        (self.digest, self.purged) = (try TestWallet.digest(), try TestWallet.digest())
        let gone = try await TestWallet(in: store, deletionDigest: self.purged)
        self.counted = try await TestWallet(in: store)
        _ = try await store.outcome(of: self.counted.attempt(right: false))
        try await store.open([StoredEpoch(number: 2, rule: .chargeOne, openedAt: later, mac: [1, 2])])
        self.fresh = try await TestWallet(in: store, opened: false)
        self.twoWrong = try await TestWallet(
            in: store,
            deletionDigest: self.digest,
            assertionCounter: 4,
            unlockShare: self.share
        )
        for _ in 0..<2 { _ = try await store.outcome(of: self.twoWrong.attempt(right: false)) }
        self.blocked = try await TestWallet(in: store)
        for _ in 0..<4 { _ = try await store.outcome(of: self.blocked.attempt(right: false)) }
        self.blockedForGood = try await TestWallet(in: store)
        #expect(try await store.blockPermanently([self.blockedForGood.id]) == 1)
        self.revoked = try await TestWallet(in: store)
        _ = try await store.revoke(wallets: [self.revoked.id], at: later)
        self.wiped = try await TestWallet(in: store)
        try await store.recordWipe(of: self.wiped.id, at: later)
        self.denied = try await TestWallet(in: store)
        _ = try await store.outcome(of: self.denied.attempt(right: true, effect: .linkRecoveryCode(mac: self.mac)))
        _ = try await store.revoke(recoveryCode: TestWallet.mac(self.mac), at: later)
        self.offered = try await TestWallet(in: store)
        let link = Attempt.Effect.linkRecoveryCode(mac: TestWallet.bytes(32))
        _ = try await store.outcome(of: self.offered.attempt(right: true, effect: link))
        try await store.recordWipe(of: gone.id, at: TestWallet.start)
        #expect(try await store.purge([gone.id], endedBefore: later) == 1)
        try await store.keepLastSessions([self.twoWrong.id: later, self.wiped.id: later])
        _ = try await store.setOperatorValues(["flag.a": "on", "percent": "10"], at: later)
        _ = try await store.note(vaultVersion: 3, check: [1, 2, 3, 4], at: later)
        try await store.beginShareRefresh(at: later)
        let some = try #require(try await store.walletsToRefresh(limit: 100))
        try await store.offer(
            some.map {
                OfferedShares(
                    cursor: $0.cursor,
                    walletID: $0.walletID,
                    next: $0.walletID == self.offered.id ? self.next : nil
                )
            }
        )
    }
}
