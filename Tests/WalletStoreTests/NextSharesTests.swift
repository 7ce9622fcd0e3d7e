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

    /// Offers next shares to every wallet that the refresh covers, by default two at a time.
    private func refresh(_ next: NextShares, in other: (any WalletStore)? = nil, each limit: Int = 2) async throws {
        let store: any WalletStore = other ?? self.store
        try await store.beginShareRefresh(at: TestWallet.start)
        while let wallets = try await store.walletsToRefresh(limit: limit) {
            try await store.offer(
                wallets.map { OfferedShares(cursor: $0.cursor, walletID: $0.walletID, next: $0.hasEnded ? nil : next) }
            )
        }
    }

    private func confirm(_ wallet: TestWallet, _ next: NextShares) async throws(StoreError) -> ShareConfirmationOutcome
    {
        try await wallet.store.confirm(
            ShareConfirmation(
                walletID: wallet.id,
                unlock: next.unlock,
                presence: next.presence,
                identity: wallet.identity,
                resealed: wallet.identity
            )
        )
    }

    @Test(
        "both shares are released until the wallet confirms the next one; then only that one is",
        arguments: StoreKind.allCases
    )
    func replacement(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let (old, presence) = (TestWallet.bytes(80), TestWallet.bytes(80))
        let wallet = try await TestWallet(in: store, unlockShare: old, presenceShare: presence)
        let other = try await TestWallet(in: store, unlockShare: old)
        let next = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.refresh(next, in: store)
        #expect(try await store.unconfirmedShares() == 2)
        try await #expect(
            store.outcome(of: wallet.attempt(right: true)) == .valid(.unlockShare(old, next: next.unlock))
        )
        guard case .active(_, _, presence, next.presence, _, _) = try await wallet.session() else {
            Issue.record("the session lacks a share")
            return
        }
        #expect(try await self.confirm(wallet, NextShares(unlock: next.unlock)) == .replaced)
        try await #expect(
            store.outcome(of: wallet.attempt(right: true))
                == .valid(.unlockShare(try #require(next.unlock), next: nil))
        )
        #expect(try await store.unconfirmedShares() == 2, "the presence share is left")
        #expect(try await self.confirm(wallet, NextShares(presence: next.presence)) == .replaced)
        #expect(try await store.unconfirmedShares() == 1)
        #expect(try await self.confirm(wallet, next) == .notOffered, "a repetition changes nothing")
        try await #expect(
            store.outcome(of: other.attempt(right: true)) == .valid(.unlockShare(old, next: next.unlock))
        )
    }

    @Test("a wallet registered after the refresh began gets no next shares", arguments: StoreKind.allCases)
    func coverage(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        _ = try await TestWallet(in: store)
        try await store.beginShareRefresh(at: TestWallet.start)
        let later = try await TestWallet(in: store)
        let covered = try #require(try await store.walletsToRefresh(limit: 10)?.map(\.walletID))
        #expect(covered.count == 1 && !covered.contains(later.id))
    }

    @Test(
        "a wallet that takes the row number or the id of a removed one gets none of its next shares",
        arguments: StoreKind.allCases
    )
    func reusedNumber(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let removed = try await TestWallet(in: store, opened: false)
        try await store.beginShareRefresh(at: TestWallet.start)
        let reached = try #require(try await store.walletsToRefresh(limit: 10))
        #expect(reached.map(\.walletID) == [removed.id])
        #expect(try await store.sweep(unopenedSince: TestWallet.start + .seconds(1)) == 1)
        let other = try await TestWallet(in: store)
        guard case .registered = try await store.register(removed.registration()) else {
            Issue.record("the removed wallet's token cannot be used again")
            return
        }
        let next = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await store.offer(reached.map { OfferedShares(cursor: $0.cursor, walletID: $0.walletID, next: next) })
        #expect(try await store.unconfirmedShares() == 0)
        #expect(try await self.confirm(other, next) == .notOffered)
    }

    @Test("shares of an earlier refresh are no longer accepted after another one", arguments: StoreKind.allCases)
    func anotherRefresh(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        let first = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.refresh(first, in: store)
        let second = NextShares(unlock: TestWallet.bytes(80), presence: TestWallet.bytes(80))
        try await self.refresh(second, in: store)
        #expect(try await self.confirm(wallet, first) == .notOffered)
        #expect(try await self.confirm(wallet, second) == .replaced)
    }

    @Test(
        "a confirmation needs the present identity, and replaces its sealed value, which a PIN change names",
        arguments: StoreKind.allCases
    )
    func identity(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var wallet = try await TestWallet(in: store)
        let next = NextShares(unlock: TestWallet.bytes(80))
        try await self.refresh(next, in: store)
        let (old, new) = (wallet.identity, TestWallet.bytes(wallet.identity.count))
        for (identity, resealed) in [(new, new), (old, new + [0])] {
            let outcome = try await store.confirm(
                ShareConfirmation(
                    walletID: wallet.id,
                    unlock: next.unlock,
                    presence: nil,
                    identity: identity,
                    resealed: resealed
                )
            )
            #expect(outcome == .notOffered)
        }
        let outcome = try await store.confirm(
            ShareConfirmation(walletID: wallet.id, unlock: next.unlock, presence: nil, identity: old, resealed: new)
        )
        #expect(outcome == .replaced)
        let change = Attempt.Effect.replacePINKey(identity: TestWallet.bytes(old.count), newKeyID: .random())
        try await #expect(store.outcome(of: wallet.attempt(right: true, effect: change)) == .identityChanged)
        wallet.identity = new
        try await #expect(store.outcome(of: wallet.attempt(right: true, effect: change)) == .valid(.pinKeyReplaced))
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
        try await self.store.offer(reached.map { OfferedShares(cursor: $0.cursor, walletID: $0.walletID, next: next) })
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

    @Test(
        "if the disk was too full to erase a confirmed wallet's old share, the next commit of any wallet erases it",
        .enabled(if: SmallDisk.isPermitted, "mounting a small file system needs root")
    )
    func erasedLater() async throws {
        let disk = try SmallDisk()
        let store = try SQLiteWalletStore.open(folder: disk.path, key: .test, creating: true)
        let marker = TestWallet.bytes(16)
        let share = [[UInt8]](repeating: marker, count: 5).flatMap(\.self)
        // So few that their log is not yet copied into the database, and enough to need new pages there.
        let wallets = try await withThrowingTaskGroup(of: TestWallet.self) { group in
            for _ in 0..<10 { group.addTask { try await TestWallet(in: store, unlockShare: share) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let next = NextShares(unlock: TestWallet.bytes(80))
        try await self.refresh(next, in: store, each: 100)
        // Space for the commit, but not for the contents of the log.
        var failure: StoreError?
        for pages in 1...16 where failure != .notErased {
            try disk.fill(leaving: pages)
            do throws(StoreError) {
                _ = try await self.confirm(wallets[0], next)
            } catch {
                failure = error
            }
            if failure != .notErased { try disk.clear() }
        }
        #expect(failure == .notErased)
        func log() throws -> [UInt8] { try DurableFile.read("\(disk.path)/wallets.db-wal", atMost: 1 << 24) }
        #expect(try !log().isEmpty)
        try disk.clear()
        #expect(try await self.confirm(wallets[0], next) == .notOffered, "the wallet has nothing to repeat")
        _ = try await store.outcome(of: wallets[1].attempt(right: true))
        // Emptied after the answer, and before any later step.
        _ = try await store.walletCount()
        #expect(try log().isEmpty)
        await store.close()
    }
}
