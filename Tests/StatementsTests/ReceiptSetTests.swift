import Secrets
import Statements
import Testing
import Vocabulary

@Suite("Sets of receipts")
struct ReceiptSetTests {
    private let key = ReceiptSigningKey(id: 1, seed: .random(count: ReceiptSigningKey.seedByteCount))
    private let walletID = WalletID.random()

    private func receipt(_ number: UInt64, at time: Int64, epoch: UInt64 = 1, judged: Bool = true) throws -> Receipt {
        let leaf = AttemptLeaf(
            outcome: judged ? .wrong : .notJudged,
            wrongPINs: 1,
            walletID: self.walletID,
            attemptID: .random(),
            number: number,
            lastWrong: nil
        )
        var bytes: [UInt8] = []
        leaf.write(to: &bytes)
        let tree = MerkleTree(leaves: bytes, each: AttemptLeaf.byteCount)
        let time = Timestamp(milliseconds: time)
        let signed = try #require(self.key.sign(root: tree.root, epoch: epoch, at: time))
        return Receipt(leaf: bytes[...], place: 0, leafCount: 1, signedRoot: signed.encoded(), path: [])
    }

    private func problems(_ receipts: [Receipt], _ roots: [SignedRoot] = []) -> [ReceiptSet.Problem] {
        var set = ReceiptSet(keys: [self.key.key])
        for (line, receipt) in receipts.enumerated() { set.add(receipt, line: line) }
        for (index, root) in roots.enumerated() { set.add(root, line: receipts.count + index) }
        return set.problems().map(\.problem)
    }

    @Test("numbers that grow with time have no problem, nor has a repeated verdict or an epoch that follows")
    func sound() throws {
        let repeated = try self.receipt(2, at: 30)
        let receipts = [
            try self.receipt(1, at: 10), repeated, repeated, try self.receipt(2, at: 40, judged: false),
            try self.receipt(1, at: 50, epoch: 2),
        ]
        #expect(self.problems(receipts) == [])
        #expect(self.problems(receipts.reversed()) == [])
    }

    @Test("two attempts with one number, a number before a smaller one, and an ended epoch are problems")
    func contradictions() throws {
        #expect(self.problems([try self.receipt(3, at: 10), try self.receipt(3, at: 20)]) == [.sameNumber(line: 0)])
        #expect(self.problems([try self.receipt(3, at: 20), try self.receipt(4, at: 10)]) == [.beforeSmaller(line: 0)])
        let later = try self.receipt(1, at: 20, epoch: 2).signed
        #expect(self.problems([try self.receipt(9, at: 30)], [later]) == [.epochEnded(line: 1)])
    }

    @Test("a receipt by an unknown key is not genuine")
    func unknownKey() throws {
        var set = ReceiptSet(keys: [])
        set.add(try self.receipt(1, at: 10), line: 7)
        #expect(set.problems().map(\.line) == [7] && set.receiptCount == 0)
    }
}
