package import Statements
internal import Synchronization
package import Vocabulary

/// The verdicts of one transaction, stored as the leaves of a Merkle tree.
///
///     add, in each judged step ─▶ certify, before the answers ─▶ a receipt for each answer
///
/// Only the store's thread modifies the batch. Answers keep it beyond the transaction, however, so it has a lock.
package final class ReceiptBatch: Sendable {
    private struct State {
        var leaves: [UInt8] = []
        var newest = Timestamp(milliseconds: .min)
        var signed: SignedRoot?
        var certified: (tree: MerkleTree, signedRoot: [UInt8])?
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of leaves.
    var count: Int { self.state.withLock { $0.leaves.count / AttemptLeaf.byteCount } }

    /// The signed root; nil before ``certify(by:epoch:)``, or if there are no leaves.
    package var signed: SignedRoot? { self.state.withLock(\.signed) }

    /// Adds a leaf and returns its position.
    package func add(_ leaf: AttemptLeaf, at now: Timestamp) -> Int {
        self.state.withLock { state in
            if state.leaves.isEmpty { state.leaves.reserveCapacity(32 * AttemptLeaf.byteCount) }
            leaf.write(to: &state.leaves)
            state.newest = max(state.newest, now)
            return state.leaves.count / AttemptLeaf.byteCount - 1
        }
    }

    /// Removes the leaves of a step that was undone.
    func truncate(to count: Int) {
        self.state.withLock { $0.leaves.removeSubrange((count * AttemptLeaf.byteCount)...) }
    }

    /// Signs the root with the version of the vault's keys that the store names.
    ///
    /// If signing fails, no receipts are available.
    package func certify(by signer: any ReceiptSigner, _ version: UInt32?, epoch: UInt64) {
        self.state.withLock { state in
            guard !state.leaves.isEmpty else { return }
            let tree = MerkleTree(leaves: state.leaves, each: AttemptLeaf.byteCount)
            guard let signed = signer.sign(root: tree.root, epoch: epoch, at: state.newest, by: version)
            else { return }
            state.signed = signed
            state.certified = (tree, signed.encoded())
        }
    }

    /// Returns the receipt for a leaf, or nil if the root was not signed.
    package func receipt(at place: Int) -> Receipt? {
        self.state.withLock { state in
            guard let (tree, signedRoot) = state.certified else { return nil }
            let start = place * AttemptLeaf.byteCount
            return Receipt(
                leaf: state.leaves[start..<start + AttemptLeaf.byteCount],
                place: place,
                leafCount: tree.leafCount,
                signedRoot: signedRoot,
                path: tree.path(of: place)
            )
        }
    }
}
