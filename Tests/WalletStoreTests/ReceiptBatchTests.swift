import PINPolicy
import Secrets
import Statements
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// A signer that may stop to sign.
final class TestSigner: ReceiptSigner {
    let key = ReceiptSigningKey(id: 3, seed: .random(count: ReceiptSigningKey.seedByteCount))
    let fails = Mutex(false)

    func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp, by version: UInt32?) -> SignedRoot? {
        self.fails.withLock(\.self) ? nil : self.key.sign(root: root, epoch: epoch, at: time)
    }
}

@Suite("Receipts of commits")
struct ReceiptBatchTests {
    private let folder = TemporaryFolder()
    private let signer = TestSigner()
    private let store: SQLiteWalletStore

    init() throws {
        self.store = try SQLiteWalletStore.open(
            folder: self.folder.path,
            key: .test,
            creating: true,
            receipts: self.signer
        )
    }

    private func receipt(_ attempt: Attempt) async throws -> Receipt {
        let receipt = try #require(try await self.store.judge(attempt).receipt)
        #expect(receipt.isGenuine(by: self.signer.key.key))
        #expect(receipt.leaf.walletID == attempt.walletID && receipt.leaf.attemptID == attempt.attemptID)
        return receipt
    }

    @Test("judged attempts are numbered, and a right PIN states the wrong ones that it ended")
    func numbers() async throws {
        let wallet = try await TestWallet(in: self.store)
        let (first, second) = (TestWallet.start + .seconds(1), TestWallet.start + .seconds(2))
        let wrong = try await self.receipt(wallet.attempt(right: false, now: first))
        #expect(wrong.leaf.outcome == .wrong && wrong.leaf.number == 1 && wrong.leaf.wrongPINs == 1)
        #expect(wrong.leaf.lastWrong == first && wrong.signed.epoch == 1 && wrong.signed.time == first)
        let again = AttemptID.random()
        _ = try await self.receipt(wallet.attempt(right: false, id: again, now: second))
        let repeated = try await self.receipt(wallet.attempt(right: false, id: again, now: second + .seconds(9)))
        #expect(repeated.leaf.outcome == .notJudged && repeated.leaf.number == 2 && repeated.leaf.wrongPINs == 2)
        let right = try await self.receipt(wallet.attempt(right: true))
        #expect(right.leaf.outcome == .right && right.leaf.number == 3)
        #expect(right.leaf.wrongPINs == 2 && right.leaf.lastWrong == second)
        let next = try await self.receipt(wallet.attempt(right: true))
        #expect(next.leaf.number == 4 && next.leaf.wrongPINs == 0 && next.leaf.lastWrong == nil)
        for _ in 0..<4 { _ = try await self.receipt(wallet.attempt(right: false)) }
        let blocked = try await self.receipt(wallet.attempt(right: true))
        #expect(blocked.leaf.outcome == .notJudged && blocked.leaf.number == 8)
    }

    @Test("the number survives a right PIN, a sweep, a session and a restart")
    func kept() async throws {
        let wallet = try await TestWallet(in: self.store)
        for _ in 0..<3 { _ = try await self.receipt(wallet.attempt(right: true)) }
        _ = try await self.store.sweep(unopenedSince: TestWallet.start)
        try await wallet.session()
        await self.store.close()
        let again = try SQLiteWalletStore.open(folder: self.folder.path, key: .test, receipts: self.signer)
        #expect(try await again.judge(wallet.attempt(right: true)).receipt?.leaf.number == 4)
    }

    @Test("a new epoch is stated, and its charges are not wrong PINs")
    func epochs() async throws {
        let wallet = try await TestWallet(in: self.store)
        _ = try await self.receipt(wallet.attempt(right: false))
        try await self.store.open([
            StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])
        ])
        let receipt = try await self.receipt(wallet.attempt(right: true))
        #expect(receipt.signed.epoch == 2 && receipt.leaf.wrongPINs == 1 && receipt.leaf.number == 2)
    }

    @Test("an outcome without a verdict has no receipt")
    func noVerdict() async throws {
        let wallet = try await TestWallet(in: self.store)
        var other = try wallet.attempt(right: true)
        other.namedKeyID = .random()
        try await #expect(self.store.judge(other).receipt == nil)
        _ = try await self.store.setSolutionRevoked(true)
        try await #expect(self.store.judge(wallet.attempt(right: true)).receipt == nil)
    }

    @Test("without a signature no verdict leaves the store, and the attempt is counted")
    func unsigned() async throws {
        let wallet = try await TestWallet(in: self.store)
        self.signer.fails.withLock { $0 = true }
        for isRight in [true, false] {
            await #expect(throws: StoreError.notCertified) {
                try await self.store.judge(wallet.attempt(right: isRight))
            }
        }
        self.signer.fails.withLock { $0 = false }
        let receipt = try await self.receipt(wallet.attempt(right: true))
        #expect(receipt.leaf.number == 3 && receipt.leaf.wrongPINs == 1)
    }

    @Test("all verdicts of a batch have one root, without those of steps that were undone")
    func batches() async throws {
        var wallets: [TestWallet] = []
        for _ in 0..<5 { wallets.append(try await TestWallet(in: self.store)) }
        let attempts = try wallets.map { try $0.attempt(right: true) }
        let receipts = Mutex<[Receipt?]>([])
        let refusals = Mutex(0)
        let signer = self.signer
        // One batch, in which the third step fails after it was judged.
        try await self.store.queue.betweenBatches { connection in
            let writer = BatchWriter(connection: connection, receipts: signer, onFatal: { fatalError("\($0)") })
            writer.run(
                attempts.enumerated().map { index, attempt in
                    CommitQueue.PendingStep(
                        run: { connection in
                            let judged = try connection.step(attempt)
                            if index == 2 { throw StoreError.corrupt }
                            return {
                                let receipt = judged.leaf.flatMap { $0.batch.receipt(at: $0.place) }
                                receipts.withLock { $0.append(receipt) }
                            }
                        },
                        refuse: { _ in refusals.withLock { $0 += 1 } }
                    )
                }
            )
        }
        let found = try receipts.withLock(\.self).map { try #require($0) }
        #expect(found.count == 4 && refusals.withLock(\.self) == 1)
        #expect(Set(found.map(\.signed.root)).count == 1)
        for receipt in found { #expect(receipt.isGenuine(by: self.signer.key.key) && receipt.leafCount == 4) }
    }
}
