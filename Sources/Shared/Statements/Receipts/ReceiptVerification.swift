package import Vocabulary

extension SignedRoot {
    /// Returns whether this root is signed by the key.
    package func isSigned(by key: ReceiptKey) -> Bool {
        guard self.keyID == key.id, let verifyingKey = VerifyingKey(key.publicKey) else { return false }
        let statement = ReceiptStatement.root(self.root, epoch: self.epoch, time: self.time, keyID: self.keyID)
        return verifyingKey.isValid(self.signature, forBytes: statement)
    }
}

extension Receipt {
    /// Returns whether the path leads from the leaf to the root and the root is signed by the key.
    package func isGenuine(by key: ReceiptKey) -> Bool {
        let signed = self.signed
        let root = MerkleTree.root(from: self.leafBytes, place: self.place, leafCount: self.leafCount, path: self.path)
        return root == signed.root.bytes && signed.isSigned(by: key)
    }
}

extension ReceiptKey {
    /// Follows signed links from this key and returns it with its successors, or nil if a link is missing or not
    /// signed.
    ///
    /// - Parameter links: The server's keys in ascending order, each signed by its predecessor.
    package func successors(following links: [ReceiptKeyLink]) -> [ReceiptKey]? {
        guard let last = links.last, last.key.id >= self.id else { return nil }
        var key = self
        var keys = [self]
        for link in links where link.key.id >= self.id {
            if link.key.id == self.id {
                guard link.key == self else { return nil }
                continue
            }
            guard key.id < .max, link.key.id == key.id + 1, let verifyingKey = VerifyingKey(key.publicKey),
                verifyingKey.isValid(link.endorsement, forBytes: ReceiptStatement.successor(link.key, of: key.id))
            else { return nil }
            key = link.key
            keys.append(key)
        }
        return keys
    }
}

/// A set of receipts and signed roots, verified together and without a server.
///
/// A single receipt proves a verdict. A set also reveals whether a server gave two attempts the same number, decreased
/// its numbers, or signed in an epoch that had already ended.
package struct ReceiptSet {
    package enum Problem: Hashable, Sendable {
        /// The receipt or root is not signed by any of the given keys, or the path leads to a different root.
        case notGenuine
        /// Another judged attempt by the wallet has the same number in this epoch.
        case sameNumber(line: Int)
        /// A smaller number for the wallet in this epoch has a later time.
        case beforeSmaller(line: Int)
        /// An earlier root belongs to a later epoch.
        case epochEnded(line: Int)
    }

    /// The keys by id.
    private let keys: [UInt32: ReceiptKey]
    private var receipts: [(line: Int, leaf: AttemptLeaf, signed: SignedRoot)] = []
    private var roots: [(line: Int, signed: SignedRoot)] = []
    private var notGenuine: [Int] = []

    package init(keys: [ReceiptKey]) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }) { first, _ in first }
    }

    package var receiptCount: Int { self.receipts.count }
    package var rootCount: Int { self.roots.count - self.receipts.count }

    /// Adds the receipt in this line.
    package mutating func add(_ receipt: Receipt, line: Int) {
        let signed = receipt.signed
        guard let key = self.keys[signed.keyID], receipt.isGenuine(by: key) else { return self.notGenuine.append(line) }
        self.receipts.append((line, receipt.leaf, signed))
        self.roots.append((line, signed))
    }

    /// Adds the root in this line of the server's log.
    package mutating func add(_ root: SignedRoot, line: Int) {
        guard let key = self.keys[root.keyID], root.isSigned(by: key) else { return self.notGenuine.append(line) }
        self.roots.append((line, root))
    }

    /// Returns the lines that have a problem, in order.
    package func problems() -> [(line: Int, problem: Problem)] {
        var found = self.notGenuine.map { (line: $0, problem: Problem.notGenuine) }
        struct Series: Hashable {
            let wallet: WalletID
            let epoch: UInt64
        }
        let all = Dictionary(grouping: self.receipts) { Series(wallet: $0.leaf.walletID, epoch: $0.signed.epoch) }
        for series in all.values {
            let sorted = series.sorted { ($0.leaf.number, $0.signed.time) < ($1.leaf.number, $1.signed.time) }
            for (before, next) in zip(sorted, sorted.dropFirst())
            where before.leaf.number < next.leaf.number && before.signed.time > next.signed.time {
                found.append((next.line, .beforeSmaller(line: before.line)))
            }
            let judged = sorted.filter { $0.leaf.outcome != .notJudged }
            for (before, next) in zip(judged, judged.dropFirst())
            where before.leaf.number == next.leaf.number && before.leaf != next.leaf {
                found.append((next.line, .sameNumber(line: before.line)))
            }
        }
        var latest: (line: Int, signed: SignedRoot)?
        for root in self.roots.sorted(by: { $0.signed.time < $1.signed.time }) {
            if let latest, latest.signed.epoch > root.signed.epoch, latest.signed.time < root.signed.time {
                found.append((root.line, .epochEnded(line: latest.line)))
            } else if latest.map({ $0.signed.epoch < root.signed.epoch }) ?? true {
                latest = root
            }
        }
        return found.sorted { $0.line < $1.line }
    }
}
