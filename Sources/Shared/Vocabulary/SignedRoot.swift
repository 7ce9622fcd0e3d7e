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
package struct ReceiptKey: Hashable, Sendable {
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
