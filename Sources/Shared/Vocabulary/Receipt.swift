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

/// The facts certified by a receipt: a verdict, and the state of the wallet's attempts as of its commit.
///
/// The encoding always has ``byteCount`` bytes:
///
///     0       version of the form, 1
///     1       1 the PIN was right · 2 it was wrong · 3 no PIN was judged
///     2–3     wrong PINs since the last right one, including this one
///     4–19    wallet id
///     20–35   attempt id
///     36–43   number of the wallet's judged attempts
///     44–51   time of the last of these wrong PINs, milliseconds since 1970, or 0 if there are none
///
/// Numbers are big-endian. For a right PIN, the number of wrong PINs is the length of the streak that it ended.
package struct AttemptLeaf: Hashable, Sendable {
    package enum Outcome: UInt8, Hashable, Sendable {
        case right = 1
        case wrong = 2
        /// A block, or the repetition of a wrong attempt.
        case notJudged = 3
    }

    package var outcome: Outcome
    package var wrongPINs: Int
    package var walletID: WalletID
    package var attemptID: AttemptID
    package var number: UInt64
    package var lastWrong: Timestamp?

    package static let byteCount = 52
    private static let form: UInt8 = 1

    package init(
        outcome: Outcome,
        wrongPINs: Int,
        walletID: WalletID,
        attemptID: AttemptID,
        number: UInt64,
        lastWrong: Timestamp?
    ) {
        self.outcome = outcome
        self.wrongPINs = wrongPINs
        self.walletID = walletID
        self.attemptID = attemptID
        self.number = number
        self.lastWrong = lastWrong
    }

    /// Decodes a leaf; only accepts what ``write(to:)`` has written.
    package init?(decoding bytes: ArraySlice<UInt8>) {
        let bytes = [UInt8](bytes)
        guard bytes.count == Self.byteCount, bytes[0] == Self.form, let outcome = Outcome(rawValue: bytes[1]),
            let walletID = WalletID(bytes[4..<20]), let attemptID = AttemptID(bytes[20..<36]),
            let lastWrong = Int64(exactly: bytes[44..<52].bigEndian)
        else { return nil }
        self.outcome = outcome
        self.wrongPINs = Int(bytes[2..<4].bigEndian)
        self.walletID = walletID
        self.attemptID = attemptID
        self.number = bytes[36..<44].bigEndian
        self.lastWrong = lastWrong == 0 ? nil : Timestamp(milliseconds: lastWrong)
    }

    /// Appends the encoded leaf.
    package func write(to bytes: inout [UInt8]) {
        bytes.append(Self.form)
        bytes.append(self.outcome.rawValue)
        bytes.append(bigEndian: UInt64(clamping: self.wrongPINs), byteCount: 2)
        bytes.append(contentsOf: self.walletID.bytes)
        bytes.append(contentsOf: self.attemptID.bytes)
        bytes.append(bigEndian: self.number, byteCount: 8)
        bytes.append(bigEndian: UInt64(clamping: self.lastWrong?.milliseconds ?? 0), byteCount: 8)
    }
}

/// The root of a commit's Merkle tree, with the server's signature.
package struct SignedRoot: Hashable, Sendable {
    /// The epoch of the store, which starts at 1 and is incremented by every restore.
    package var epoch: UInt64
    /// The time of the newest attempt in the commit.
    package var time: Timestamp
    /// The id of the receipt key that made the signature.
    package var keyID: UInt32
    package var root: SHA256Digest
    package var signature: P256Signature

    package init(epoch: UInt64, time: Timestamp, keyID: UInt32, root: SHA256Digest, signature: P256Signature) {
        self.epoch = epoch
        self.time = time
        self.keyID = keyID
        self.root = root
        self.signature = signature
    }

    package static let byteCount = 116

    /// Decodes the epoch, time, key id, root and signature, as written by ``encoded()``.
    package init?(decoding bytes: ArraySlice<UInt8>) {
        let bytes = [UInt8](bytes)
        guard bytes.count == Self.byteCount, let time = Int64(exactly: bytes[8..<16].bigEndian),
            let root = SHA256Digest(bytes[20..<52]), let signature = P256Signature(bytes[52...]),
            bytes[..<8].bigEndian > 0
        else { return nil }
        self.epoch = bytes[..<8].bigEndian
        self.time = Timestamp(milliseconds: time)
        self.keyID = UInt32(truncatingIfNeeded: bytes[16..<20].bigEndian)
        self.root = root
        self.signature = signature
    }

    /// Returns bytes 56 to 171 of a ``Receipt``.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes.append(bigEndian: self.epoch, byteCount: 8)
        bytes.append(bigEndian: UInt64(clamping: self.time.milliseconds), byteCount: 8)
        bytes.append(bigEndian: UInt64(self.keyID), byteCount: 4)
        return bytes + self.root.bytes + self.signature.bytes
    }
}

/// The public half of a key that signs receipts.
package struct ReceiptKey: Hashable, Sendable, Codable {
    /// The id, incremented by every rotation.
    package var id: UInt32
    package var publicKey: P256PublicKey

    package init(id: UInt32, publicKey: P256PublicKey) {
        self.id = id
        self.publicKey = publicKey
    }
}

/// A receipt key, signed by its predecessor.
///
/// The encoding always has ``byteCount`` bytes.
///
///     0–3     key id
///     4–68    public key, X9.63 uncompressed
///     69–132  signature by the key with the id before it; zeros for the first key
package struct ReceiptKeyLink: Hashable, Sendable {
    package var key: ReceiptKey
    package var endorsement: P256Signature

    package static let byteCount = 133
    /// The maximum number of links to send.
    ///
    /// If there are more, only the newest ones are sent.
    package static let mostLinks = 32
    private static let none = [UInt8](repeating: 0, count: 64)

    /// Creates a link.
    ///
    /// The first key does not have an endorsement.
    package init?(_ key: ReceiptKey, endorsedBy signature: P256Signature?) {
        guard let signature = signature ?? P256Signature(Self.none) else { return nil }
        self.key = key
        self.endorsement = signature
    }

    package init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, let publicKey = P256PublicKey(bytes[4..<69]),
            let signature = P256Signature(bytes[69...])
        else { return nil }
        self.key = ReceiptKey(id: UInt32(truncatingIfNeeded: bytes[..<4].bigEndian), publicKey: publicKey)
        self.endorsement = signature
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes.append(bigEndian: UInt64(self.key.id), byteCount: 4)
        return bytes + self.key.publicKey.bytes + self.endorsement.bytes
    }
}
