import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("The store's generation, and its mark of the audit log")
struct AuditMarkTests {
    private let folder: TemporaryFolder
    private let store: SQLiteWalletStore
    private let mark = StoredAuditMark(number: 7, mac: "1-ab")

    init() throws {
        self.folder = TemporaryFolder()
        self.store = try self.folder.store()
    }

    @Test(
        "each change on record stores the announced entry in its commit, and a PIN check does not",
        arguments: StoreKind.allCases
    )
    func marked(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let (wallet, other) = (try await TestWallet(in: store), try await TestWallet(in: store))
        #expect(try await store.auditMark() == nil)
        store.announce(self.mark)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        #expect(try await store.auditMark() == nil)
        let mac = TestWallet.bytes(32)
        let changes: [(any ServedStore) async throws -> Void] = [
            { try await $0.recordWipe(of: wallet.id, at: TestWallet.start) },
            { _ = try await $0.revoke(wallets: [other.id], at: TestWallet.start) },
            { _ = try await $0.revoke(recoveryCode: TestWallet.mac(mac), at: TestWallet.start) },
            { _ = try await $0.removeDenied(TestWallet.mac(mac)) },
            { _ = try await $0.setSolutionRevoked(true) },
            { _ = try await $0.purge([wallet.id], endedBefore: TestWallet.start + .seconds(1)) },
            { try await $0.noteRecorded(blocksOf: [other.id]) },
            { try await $0.keepAuditMark() },
        ]
        for (place, change) in changes.enumerated() {
            let newest = StoredAuditMark(number: 10 + UInt64(place), mac: "1-cd")
            store.announce(newest)
            try await change(store)
            #expect(try await store.auditMark() == newest, "\(place)")
        }
        await store.close()
        let again = try await place.open()
        #expect(try await again.auditMark()?.number == UInt64(9 + changes.count))
        await again.close()
    }

    @Test("every judged attempt raises the generation by one, right or wrong; reading does not; a start keeps it")
    func generation() async throws {
        let wallet = try await TestWallet(in: self.store)
        for right in [false, true, true] {
            let before = self.store.generation
            _ = try await self.store.outcome(of: wallet.attempt(right: right))
            #expect(self.store.generation == before + 1)
        }
        let last = self.store.generation
        _ = try await self.store.report(of: wallet.id)
        _ = try await self.store.witnessStep()
        #expect(self.store.generation == last)
        try await self.store.raiseGeneration(above: last + 100)
        #expect(self.store.generation == last + 101)
        await self.store.close()
        let again = try self.folder.store()
        #expect(again.generation == last + 101)
        #expect(try await again.raiseWitnessStep() == 1)
        #expect(try await again.raiseWitnessStep(above: 9) == 10)
        #expect(try await again.witnessStep() == 10)
        await again.close()
    }
}
