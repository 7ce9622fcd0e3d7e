internal import Secrets
package import Vocabulary

/// A Merkle tree (RFC 9162 §2.1) of the leaves in a commit.
///
/// The hash of a leaf is SHA-256(0x00 ‖ leaf), and the hash of a node is SHA-256(0x01 ‖ left ‖ right), so that a node
/// cannot be passed off as a leaf. A node without a sibling moves up to the next level unchanged.
package struct MerkleTree: Sendable {
    /// The hashes on each level, 32 bytes each, from the leaves to the root.
    private let levels: [[UInt8]]
    package let leafCount: Int

    private static let leafPrefix: UInt8 = 0
    private static let nodePrefix: UInt8 = 1
    static let hashByteCount = 32

    /// Creates the tree from concatenated leaves of the same length.
    ///
    /// - Precondition: `leaves` contains at least one leaf.
    package init(leaves: [UInt8], each byteCount: Int) {
        self.leafCount = leaves.count / byteCount
        precondition(self.leafCount > 0 && leaves.count.isMultiple(of: byteCount), "a tree has whole leaves")
        var hashes: [UInt8] = []
        hashes.reserveCapacity(self.leafCount * Self.hashByteCount)
        for start in stride(from: 0, to: leaves.count, by: byteCount) {
            hashes.appendSHA256(of: Self.leafPrefix, leaves[start..<start + byteCount])
        }
        var levels = [hashes]
        while hashes.count > Self.hashByteCount {
            hashes = Self.parents(of: hashes)
            levels.append(hashes)
        }
        self.levels = levels
    }

    private static func parents(of hashes: [UInt8]) -> [UInt8] {
        let pair = 2 * Self.hashByteCount
        var parents: [UInt8] = []
        parents.reserveCapacity(hashes.count / 2 + Self.hashByteCount)
        var start = 0
        while start + pair <= hashes.count {
            parents.appendSHA256(of: Self.nodePrefix, hashes[start..<start + pair])
            start += pair
        }
        parents.append(contentsOf: hashes[start...])
        return parents
    }

    package var root: SHA256Digest {
        guard let root = self.levels.last.flatMap({ SHA256Digest($0) }) else {
            preconditionFailure("the last level has one hash")
        }
        return root
    }

    /// Returns the concatenated siblings along the way from a leaf to the root.
    package func path(of place: Int) -> [UInt8] {
        var path: [UInt8] = []
        path.reserveCapacity(Self.hashByteCount * (self.levels.count - 1))
        var place = place
        for level in self.levels.dropLast() {
            let start = (place ^ 1) * Self.hashByteCount
            if start < level.count { path.append(contentsOf: level[start..<start + Self.hashByteCount]) }
            place /= 2
        }
        return path
    }

    /// Returns the root for a leaf and its path (RFC 9162 §2.1.3.2), or nil if the path has the wrong length.
    static func root(from leaf: ArraySlice<UInt8>, place: Int, leafCount: Int, path: ArraySlice<UInt8>) -> [UInt8]? {
        let pathCount = Receipt.pathCount(place: place, leafCount: leafCount)
        guard path.count == Self.hashByteCount * pathCount else { return nil }
        var hash: [UInt8] = []
        hash.appendSHA256(of: Self.leafPrefix, leaf)
        var (place, last, path) = (place, leafCount - 1, path)
        while last > 0 {
            if place % 2 == 1 || place < last {
                let sibling = path.prefix(Self.hashByteCount)
                path = path.dropFirst(Self.hashByteCount)
                let joined: [UInt8] = place % 2 == 1 ? Array(sibling) + hash : hash + Array(sibling)
                hash = []
                hash.appendSHA256(of: Self.nodePrefix, joined[...])
            }
            (place, last) = (place / 2, last / 2)
        }
        return hash
    }
}
