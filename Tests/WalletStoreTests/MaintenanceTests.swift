import PINPolicy
import Testing
import Vocabulary
import WalletStore

@Suite("Maintenance of a store")
struct MaintenanceTests {
    private let later = TestWallet.start + .seconds(10)

    @Test(
        "ended wallets are purged after their time, and their deletion codes stay known",
        arguments: StoreKind.allCases
    )
    func purge(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let digest = try TestWallet.digest()
        let due = try await TestWallet(in: store, deletionDigest: digest)
        let (recent, inUse) = (try await TestWallet(in: store), try await TestWallet(in: store))
        try await store.recordWipe(of: due.id, at: TestWallet.start)
        try await store.recordWipe(of: recent.id, at: self.later)
        let first = try await store.purgeable(after: nil, lookingAt: 1, endedBefore: self.later)
        #expect(first.wallets == [due.id] && first.next != nil)
        let rest = try await store.purgeable(after: first.next, lookingAt: 2, endedBefore: self.later)
        #expect(rest == WalletPage(wallets: [], next: nil))
        let all = [inUse.id, recent.id, due.id, WalletID.random()]
        try await #expect(store.purge(all, endedBefore: self.later) == 1)
        try await #expect(store.identity(of: due.id) == nil)
        try await #expect(store.purged(deletionCode: digest) == TestWallet.start)
        for wallet in [recent, inUse] { try await #expect(store.identity(of: wallet.id) != nil) }
        try await #expect(store.walletCount() == 2)
    }

    @Test(
        "an ended wallet that cannot be read delays the purge of no other",
        arguments: [
            (StoreKind.sqlite, "UPDATE wallets SET pin_key_id = zeroblob(3) WHERE key = 1"),
            (.postgreSQL, "update wallet_values set pin_key_id = '\\x00' where place = 1"),
        ]
    )
    func damagedPurge(kind: StoreKind, change: String) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let digest = try TestWallet.digest()
        for wallet in [try await TestWallet(in: store, deletionDigest: digest), try await TestWallet(in: store)] {
            try await store.recordWipe(of: wallet.id, at: TestWallet.start)
        }
        await store.close()
        try place.change(change)
        let again = try await place.open()
        let due = try await again.purgeable(after: nil, lookingAt: 9, endedBefore: self.later)
        try await #expect(again.purge(due.wallets, endedBefore: self.later) == 2)
        try await #expect(again.walletCount() == 0)
        try await #expect(again.purged(deletionCode: digest) == TestWallet.start)
        await again.close()
    }

    @Test(
        "sealed values are read in pages, and replaced only if they are still the ones read",
        arguments: StoreKind.allCases
    )
    func sealedValues(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var wallets: [TestWallet] = []
        for _ in 0..<3 { wallets.append(try await TestWallet(in: store, deletionDigest: TestWallet.digest())) }
        try await store.recordWipe(of: wallets[2].id, at: TestWallet.start)
        try await store.beginShareRefresh(at: TestWallet.start)
        let first = try #require(try await store.walletsToRefresh(limit: 1)?.first)
        let next = NextShares(unlock: TestWallet.bytes(60), presence: TestWallet.bytes(60))
        try await store.offer([OfferedShares(cursor: first.cursor, walletID: first.walletID, next: next)])
        let page = try await store.sealedValues(after: nil, limit: 2)
        #expect(page.map { $0.values.shares?.next } == [next, NextShares()])
        let rest = try await store.sealedValues(after: page.last?.cursor, limit: 2)
        #expect((page + rest).map(\.walletID) == wallets.map(\.id))
        #expect(rest.map { $0.values.shares } == [nil], "a wallet that has ended has no shares")
        let replacements = (page + rest).map { wallet in
            var new = wallet.values
            new.identity = TestWallet.bytes(new.identity.count)
            if let shares = new.shares { new.shares?.unlock = TestWallet.bytes(shares.unlock.count) }
            if new.shares?.next.unlock != nil { new.shares?.next.unlock = TestWallet.bytes(60) }
            return SealedReplacement(walletID: wallet.walletID, old: wallet.values, new: new)
        }
        // A PIN change between the read and the write.
        let (identity, key) = (TestWallet.bytes(300), PINKeyID.random())
        let change = Attempt.Effect.replacePINKey(identity: identity, newKeyID: key)
        try await #expect(store.outcome(of: wallets[1].attempt(right: true, effect: change)) == .valid(.pinKeyReplaced))
        try await store.replace(replacements)
        let found = try await store.sealedValues(after: nil, limit: 3).map(\.values)
        #expect(found[0] == replacements[0].new && found[2] == replacements[2].new)
        #expect(found[1].identity == identity && found[1].shares == replacements[1].old.shares)
    }

    @Test("vault key versions are noted once, in ascending order", arguments: StoreKind.allCases)
    func vaultVersions(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        try await #expect(store.vaultVersions().isEmpty)
        _ = try await store.note(vaultVersion: 2, check: [2], at: self.later)
        _ = try await store.note(vaultVersion: 1, check: [1], at: TestWallet.start)
        let again = try await store.note(vaultVersion: 2, check: [9], at: TestWallet.start)
        var expected = [
            StoredVaultVersion(version: 1, activeSince: TestWallet.start, sealedAnewAt: nil, check: [1]),
            StoredVaultVersion(version: 2, activeSince: self.later, sealedAnewAt: nil, check: [2]),
        ]
        #expect(again == expected)
        try await store.noteSealedAnew(vaultVersion: 2, at: self.later)
        expected[1].sealedAnewAt = self.later
        try await #expect(store.vaultVersions() == expected)
        try await store.noteSealedAnew(vaultVersion: 2, at: nil)
        expected[1].sealedAnewAt = nil
        try await #expect(store.vaultVersions() == expected)
        try await #expect(store.recordKeyFits())
    }

    @Test(
        "blocks from an audit log are applied once, and not to unknown or ended wallets",
        arguments: StoreKind.allCases
    )
    func blocks(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let (wallet, ended) = (try await TestWallet(in: store), try await TestWallet(in: store))
        try await store.recordWipe(of: ended.id, at: TestWallet.start)
        let ids = [wallet.id, ended.id, .random()]
        try await #expect(store.inUse(ids) == [wallet.id])
        try await #expect(store.unblocked(ids) == [wallet.id])
        try await #expect(store.blockPermanently(ids) == 1)
        try await #expect(store.blockPermanently(ids) == 0)
        try await #expect(store.unblocked(ids).isEmpty)
        try await #expect(store.inUse(ids) == [wallet.id])
        try await #expect(store.outcome(of: wallet.attempt(right: true)) == .notValid(.blockedPermanently))
        try await #expect(store.unrecordedBlocks(after: nil, lookingAt: 10).wallets.isEmpty)
    }

    @Test("a listing has every wallet once, page by page", arguments: StoreKind.allCases)
    func listing(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var ids: [WalletID] = []
        for _ in 0..<5 { ids.append(try await TestWallet(in: store, opened: ids.count != 1).id) }
        try await store.keepLastSessions([ids[0]: self.later])
        try await store.recordWipe(of: ids[2], at: self.later)
        var found: [StoredListing] = []
        repeat {
            found += try await store.listing(after: found.last?.cursor, limit: 2)
        } while found.count.isMultiple(of: 2)
        #expect(found.map(\.walletID) == ids)
        #expect(found.map(\.sessionOpened) == [true, false, true, true, true])
        #expect(found.map { $0.revocation != nil } == [false, false, true, false, false])
        #expect(found[0].lastSession == self.later && found[1].lastSession == nil)
        #expect(found.allSatisfy { $0.platform == .android && $0.attempts?.isEmpty == true })
    }
}
