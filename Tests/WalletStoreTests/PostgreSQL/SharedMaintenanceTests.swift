import PINPolicy
import PostgreSQLClient
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Maintenance of a store that several servers share")
struct SharedMaintenanceTests {
    private let place: PostgreSQLPlace
    private let connection: PostgreSQLConnection
    private let store: PostgreSQLWalletStore

    init() async throws {
        self.place = try await PostgreSQLPlace()
        self.connection = try self.place.connect()
        self.store = try await self.place.open()
    }

    @Test("each server has a separate mark of its audit log")
    func marks() async throws {
        let other = try await PostgreSQLWalletStore.open(self.place.parts(as: "other"))
        let marks = [StoredAuditMark(number: 7, mac: "1-ab"), StoredAuditMark(number: 3, mac: "1-cd")]
        for (store, mark) in zip([self.store, other], marks) {
            try await #expect(store.auditMark() == nil)
            store.announce(mark)
            try await store.keepAuditMark()
        }
        try await #expect(self.store.auditMark() == marks[0])
        try await #expect(other.auditMark() == marks[1])
    }

    @Test("a revoked wallet whose older rows were put back is found and ended again")
    func rowsPutBack() async throws {
        let (wallet, other) = (try await TestWallet(in: self.store), try await TestWallet(in: self.store))
        let tables = ["wallets", "wallet_values"]
        for table in tables { try self.connection.run("create temp table older_\(table) as select * from \(table)") }
        let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
        let time = Timestamp(milliseconds: 1)
        try await #expect(self.store.end([wallet.id], as: revocation, at: time) == 1)
        // The list of ended wallets still has it.
        for table in tables {
            try self.connection.run("delete from \(table)")
            try self.connection.run("insert into \(table) overriding system value select * from older_\(table)")
        }
        try await #expect(Set(self.store.inUse([wallet.id, other.id])) == [wallet.id, other.id])
        try await #expect(self.store.end([wallet.id], as: revocation, at: time) == 1)
        try await #expect(self.store.inUse([wallet.id, other.id]) == [other.id])
    }

    @Test("a damaged record is named, never becomes an empty one, and does not keep its wallet from being ended")
    func damagedRecord() async throws {
        let (wallet, other) = (try await TestWallet(in: self.store), try await TestWallet(in: self.store))
        _ = try await self.store.outcome(of: wallet.attempt(right: false))
        try self.connection.run(
            "update wallets set record = set_byte(record, 50, (get_byte(record, 50) + 1) % 256) where id = $1",
            [.bytes(wallet.id.bytes)]
        )
        let damaged = WalletPage(wallets: [wallet.id], next: nil)
        try await #expect(self.store.damagedWallets(after: nil, limit: 9) == damaged)
        try await #expect(self.store.unblocked([wallet.id, other.id]) == [other.id])
        try await #expect(self.store.report(of: wallet.id)?.attempts == nil)
        try await #expect(self.store.listing(after: nil, limit: 9).map { $0.attempts == nil } == [true, false])
        try await #expect(self.store.blockPermanently([wallet.id]) == 0)
        // A step that writes the row for another reason.
        let next = NextShares(unlock: TestWallet.bytes(80))
        try await self.refresh(next)
        let confirmation = ShareConfirmation(
            walletID: wallet.id,
            unlock: next.unlock,
            presence: nil,
            identity: wallet.identity,
            resealed: wallet.identity
        )
        try await #expect(self.store.confirm(confirmation) == .replaced)
        try await #expect(self.store.damagedWallets(after: nil, limit: 9) == damaged)
        await #expect(throws: StoreError.corrupt) { try await self.store.outcome(of: wallet.attempt(right: true)) }
        try await #expect(
            self.store.revoke(wallets: [wallet.id], at: TestWallet.start) == .revoked(now: 1, before: 0)
        )
        try await #expect(self.store.damagedWallets(after: nil, limit: 9).wallets.isEmpty)
    }

    @Test("a missing narrow row is damage and hides no other wallet")
    func missingRow() async throws {
        let wallets = [try await TestWallet(in: self.store), try await TestWallet(in: self.store)]
        try self.connection.run("delete from wallets where id = $1", [.bytes(wallets[0].id.bytes)])
        let first = try await self.store.damagedWallets(after: nil, limit: 1)
        #expect(first.wallets == [wallets[0].id] && first.next != nil)
        try await #expect(self.store.unrecordedBlocks(after: nil, lookingAt: 1).next != nil)
    }

    @Test("a refresh that begins again on another server reaches every wallet")
    func restartedRefresh() async throws {
        let other = try await PostgreSQLWalletStore.open(self.place.parts(as: "other"))
        for _ in 0..<4 { _ = try await TestWallet(in: self.store) }
        let next = NextShares(unlock: TestWallet.bytes(80))
        func offer(_ wallets: [RefreshableWallet]) async throws {
            try await self.store.offer(
                wallets.map { OfferedShares(cursor: $0.cursor, walletID: $0.walletID, next: next) }
            )
        }
        try await self.store.beginShareRefresh(at: TestWallet.start)
        try await offer(#require(self.store.walletsToRefresh(limit: 2)))
        let rest = try #require(try await self.store.walletsToRefresh(limit: 2))
        try await other.beginShareRefresh(at: TestWallet.start)
        try await offer(rest)
        try await offer([])
        try await #expect(other.walletsToRefresh(limit: 9)?.count == 4)
        try await self.refresh(next)
        try await #expect(self.store.unconfirmedShares() == 4)
        try await #expect(self.store.walletsToRefresh(limit: 9) == nil)
    }

    private func refresh(_ next: NextShares) async throws {
        try await self.store.beginShareRefresh(at: TestWallet.start)
        while let wallets = try await self.store.walletsToRefresh(limit: 3) {
            try await self.store.offer(
                wallets.map { OfferedShares(cursor: $0.cursor, walletID: $0.walletID, next: next) }
            )
        }
    }
}
