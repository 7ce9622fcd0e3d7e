import Foundation
import HostSystem
import TestSupport
import Testing
import Vocabulary
import WalletStore

@Suite("Replacing shares in the store")
struct NextSharesTests {
    private let folder: TemporaryFolder
    private let store: SQLiteWalletStore

    init() throws {
        self.folder = TemporaryFolder()
        self.store = try self.folder.store()
    }

    /// Offers next shares to every wallet that the refresh covers, two at a time.
    private func refresh(_ next: NextShares) async throws {
        try await self.store.beginShareRefresh(at: TestWallet.start)
        while let wallets = try await self.store.walletsToRefresh(limit: 2) {
            try await self.store.offer(
                wallets.map { OfferedShares(place: $0.place, walletID: $0.walletID, next: $0.hasEnded ? nil : next) }
            )
        }
    }

    private func confirm(_ wallet: TestWallet, _ next: NextShares) async throws -> ShareConfirmationOutcome {
        try await self.store.confirm(
            ShareConfirmation(walletID: wallet.id, unlock: next.unlock, presence: next.presence)
        )
    }

    @Test("both shares are released until the wallet confirms the next one; then only that one is")
    func replacement() async throws {
        let (old, presence) = (TestWallet.bytes(80), TestWallet.bytes(80))
        let wallet = try await TestWallet(in: self.store, unlockShare: old, presenceShare: presence)
        let other = try await TestWallet(in: self.store, unlockShare: old)
        let next = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.refresh(next)
        #expect(try await self.store.unconfirmedShares() == 2)
        try await #expect(
            self.store.judge(wallet.attempt(right: true)) == .valid(.unlockShare(old, next: next.unlock))
        )
        guard case .active(_, _, presence, next.presence) = try await wallet.session() else {
            Issue.record("the session lacks a share")
            return
        }
        #expect(try await self.confirm(wallet, NextShares(unlock: next.unlock)) == .replaced)
        try await #expect(
            self.store.judge(wallet.attempt(right: true))
                == .valid(.unlockShare(try #require(next.unlock), next: nil))
        )
        #expect(try await self.store.unconfirmedShares() == 2, "the presence share is left")
        #expect(try await self.confirm(wallet, NextShares(presence: next.presence)) == .replaced)
        #expect(try await self.store.unconfirmedShares() == 1)
        #expect(try await self.confirm(wallet, next) == .notOffered, "a repetition changes nothing")
        try await #expect(
            self.store.judge(other.attempt(right: true)) == .valid(.unlockShare(old, next: next.unlock))
        )
    }

    @Test("a wallet registered after the refresh began gets no next shares")
    func coverage() async throws {
        _ = try await TestWallet(in: self.store)
        try await self.store.beginShareRefresh(at: TestWallet.start)
        let later = try await TestWallet(in: self.store)
        let covered = try #require(try await self.store.walletsToRefresh(limit: 10)?.map(\.walletID))
        #expect(covered.count == 1 && !covered.contains(later.id))
    }

    @Test("a wallet that takes the row number of a removed one gets none of its next shares")
    func reusedNumber() async throws {
        let removed = try await TestWallet(in: self.store, opened: false)
        try await self.store.beginShareRefresh(at: TestWallet.start)
        let reached = try #require(try await self.store.walletsToRefresh(limit: 10))
        #expect(reached.map(\.walletID) == [removed.id])
        #expect(try await self.store.sweep(unopenedSince: TestWallet.start + .seconds(1)) == 1)
        let other = try await TestWallet(in: self.store)
        let next = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.store.offer(
            reached.map { OfferedShares(place: $0.place, walletID: $0.walletID, next: next) }
        )
        #expect(try await self.store.unconfirmedShares() == 0)
        #expect(try await self.confirm(other, next) == .notOffered)
    }

    @Test("shares of an earlier refresh are no longer accepted after another one")
    func anotherRefresh() async throws {
        let wallet = try await TestWallet(in: self.store)
        let first = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.refresh(first)
        let second = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.refresh(second)
        #expect(try await self.confirm(wallet, first) == .notOffered)
        #expect(try await self.confirm(wallet, second) == .replaced)
    }

    @Test("a revocation destroys the current and the next shares, also for a refresh that reaches the wallet later")
    func revoked() async throws {
        let marker = TestWallet.bytes(16)
        let share = [[UInt8]](repeating: marker, count: 5).flatMap(\.self)
        let wallet = try await TestWallet(in: self.store)
        let next = NextShares(unlock: share, presence: share)
        try await self.refresh(next)
        try await self.store.beginShareRefresh(at: TestWallet.start)
        let reached = try #require(try await self.store.walletsToRefresh(limit: 10))
        #expect(try self.folder.contents().range(of: Data(marker)) != nil)
        try await self.store.recordWipe(of: wallet.id, at: TestWallet.start)
        try await self.store.offer(reached.map { OfferedShares(place: $0.place, walletID: $0.walletID, next: next) })
        #expect(try self.folder.contents().range(of: Data(marker)) == nil)
        guard case .revoked = try await self.confirm(wallet, next) else {
            Issue.record("an ended wallet replaced its shares")
            return
        }
    }

    @Test("after a confirmation neither the database nor its log contains the old shares")
    func oldSharesAreGone() async throws {
        let marker = TestWallet.bytes(16)
        let share = [[UInt8]](repeating: marker, count: 5).flatMap(\.self)
        let wallet = try await TestWallet(in: self.store, unlockShare: share, presenceShare: share)
        let next = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.refresh(next)
        #expect(try await self.confirm(wallet, next) == .replaced)
        #expect(try self.folder.contents().range(of: Data(marker)) == nil)
    }
}
