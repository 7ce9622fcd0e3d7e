/// A proof that a verdict is in the signed list for its commit (docs/protocol.md, Receipts).
///
///     0–51     leaf
///     52–53    leaf index, from 0
///     54–55    tree size
///     56–63    epoch
///     64–71    time of the commit, milliseconds since 1970
///     72–75    key id
///     76–107   root
///     108–171  signature of the root
///     172–     path: 32 bytes for each node, from the leaf up
///
/// Numbers are big-endian. Every value has valid lengths and a valid leaf, whereas the signature and path are verified
/// separately.
package struct Receipt: Hashable, Sendable {
    package let bytes: [UInt8]

    /// The maximum number of leaves in a tree, which is also the maximum number of steps in a commit.
    package static let mostLeaves = 256
    /// Returns the length of a receipt whose path has this many nodes.
    package static func byteCount(pathCount: Int) -> Int { 172 + 32 * pathCount }
    package static let allowedByteCounts = Self.byteCount(pathCount: 0)...Self.byteCount(pathCount: 8)

    /// Creates a receipt from its parts.
    ///
    /// - Precondition: The path belongs to a tree with this many leaves.
    ///
    /// - Parameter signedRoot: The encoded ``SignedRoot``, shared by all receipts of a commit.
    package init(leaf: ArraySlice<UInt8>, place: Int, leafCount: Int, signedRoot: [UInt8], path: [UInt8]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(172 + path.count)
        bytes.append(contentsOf: leaf)
        bytes.append(bigEndian: UInt64(place), byteCount: 2)
        bytes.append(bigEndian: UInt64(leafCount), byteCount: 2)
        bytes.append(contentsOf: signedRoot)
        bytes.append(contentsOf: path)
        self.bytes = bytes
    }

    /// Returns nil if a length, the place or the leaf is invalid.
    package init?(_ bytes: [UInt8]) {
        guard Self.allowedByteCounts.contains(bytes.count), AttemptLeaf(decoding: bytes[..<52]) != nil,
            SignedRoot(decoding: bytes[56..<172]) != nil
        else { return nil }
        self.bytes = bytes
        guard (1...Self.mostLeaves).contains(self.leafCount), self.place < self.leafCount,
            bytes.count == Self.byteCount(pathCount: Self.pathCount(place: self.place, leafCount: self.leafCount))
        else { return nil }
    }

    package var leafBytes: ArraySlice<UInt8> { self.bytes[..<52] }
    package var place: Int { Int(self.bytes[52..<54].bigEndian) }
    package var leafCount: Int { Int(self.bytes[54..<56].bigEndian) }
    package var path: ArraySlice<UInt8> { self.bytes[172...] }

    package var leaf: AttemptLeaf {
        guard let leaf = AttemptLeaf(decoding: self.leafBytes) else { preconditionFailure("checked when created") }
        return leaf
    }

    package var signed: SignedRoot {
        guard let signed = SignedRoot(decoding: self.bytes[56..<172]) else {
            preconditionFailure("checked when created")
        }
        return signed
    }

    /// Returns the number of nodes on the path of a leaf (RFC 9162 §2.1.3).
    package static func pathCount(place: Int, leafCount: Int) -> Int {
        var (place, last, count) = (place, leafCount - 1, 0)
        while last > 0 {
            if place % 2 == 1 || place < last { count += 1 }
            (place, last) = (place / 2, last / 2)
        }
        return count
    }
}
