import Foundation
import Secrets
@testable import Statements
import Testing
import Vocabulary

@Suite("Receipts")
struct ReceiptTests {
    /// The parts of docs/protocol-vectors.json about receipts.
    struct Vectors: Decodable {
        struct Commit: Decodable {
            let leaves, receipts: [String]
            let epoch, time: String
            let key_id: UInt32
            let public_key, root, statement, signature: String
        }
        struct Keys: Decodable {
            let name: String
            let pinned_id: UInt32
            let pinned_key: String
            let links: [String]
            let newest_id: UInt32?
        }

        let receipts: [Commit]
        let receipt_keys: [Keys]

        static func load() throws -> Vectors {
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../docs/protocol-vectors.json")
            return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
        }
    }

    private static let walletID = WalletID.random()

    private static func key(_ id: UInt32) -> ReceiptSigningKey {
        ReceiptSigningKey(id: id, seed: .random(count: ReceiptSigningKey.seedByteCount))
    }

    /// The receipts of one commit.
    static func receipts(
        _ leaves: [AttemptLeaf],
        by key: ReceiptSigningKey,
        epoch: UInt64 = 1
    ) throws -> [Receipt] {
        var bytes: [UInt8] = []
        for leaf in leaves { leaf.write(to: &bytes) }
        let tree = MerkleTree(leaves: bytes, each: AttemptLeaf.byteCount)
        let signed = try #require(key.sign(root: tree.root, epoch: epoch, at: Timestamp(milliseconds: 5)))
        return leaves.indices.map { place in
            Receipt(
                leaf: bytes[place * AttemptLeaf.byteCount..<(place + 1) * AttemptLeaf.byteCount],
                place: place,
                leafCount: leaves.count,
                signedRoot: signed.encoded(),
                path: tree.path(of: place)
            )
        }
    }

    static func leaf(_ number: UInt64) -> AttemptLeaf {
        AttemptLeaf(
            outcome: .wrong,
            wrongPINs: 2,
            walletID: Self.walletID,
            attemptID: .random(),
            number: number,
            lastWrong: Timestamp(milliseconds: 4)
        )
    }

    @Test("trees, paths, signatures and receipts match the vectors of an independent implementation")
    func vectors() throws {
        let vectors = try Vectors.load().receipts
        #expect(vectors.map(\.leaves.count) == [1, 2, 3, 5, 8, 11])
        for vector in vectors {
            let leaves = try vector.leaves.map { try #require([UInt8](hex: $0)) }
            let tree = MerkleTree(leaves: leaves.flatMap(\.self), each: AttemptLeaf.byteCount)
            #expect(tree.root.description == vector.root)
            let key = ReceiptKey(id: vector.key_id, publicKey: try #require(P256PublicKey(hex: vector.public_key)))
            let signed = SignedRoot(
                epoch: try #require(UInt64(vector.epoch)),
                time: Timestamp(milliseconds: try #require(Int64(vector.time))),
                keyID: vector.key_id,
                root: tree.root,
                signature: try #require(P256Signature(hex: vector.signature))
            )
            let statement = ReceiptStatement.root(
                signed.root,
                epoch: signed.epoch,
                time: signed.time,
                keyID: signed.keyID
            )
            #expect(statement.hex == vector.statement)
            for (place, hex) in vector.receipts.enumerated() {
                let receipt = try #require([UInt8](hex: hex).flatMap { Receipt($0) })
                var encoded: [UInt8] = []
                receipt.leaf.write(to: &encoded)
                #expect(encoded == leaves[place])
                #expect(receipt.isGenuine(by: key))
                #expect(receipt.signed == signed)
                #expect(
                    receipt
                        == Receipt(
                            leaf: leaves[place][...],
                            place: place,
                            leafCount: leaves.count,
                            signedRoot: signed.encoded(),
                            path: tree.path(of: place)
                        )
                )
            }
        }
    }

    @Test("a key is followed through signed links only")
    func keys() throws {
        let vectors = try Vectors.load().receipt_keys
        #expect(vectors.count == 8)
        for vector in vectors {
            let pinned = ReceiptKey(
                id: vector.pinned_id,
                publicKey: try #require(P256PublicKey(hex: vector.pinned_key))
            )
            let links = try vector.links.map { hex in
                try #require([UInt8](hex: hex).flatMap { ReceiptKeyLink(decoding: $0) })
            }
            #expect(links.map(\.bytes.hex) == vector.links)
            #expect(pinned.successors(following: links)?.last?.id == vector.newest_id, "\(vector.name)")
        }
    }

    @Test("no server key is not an answer to a pinned one")
    func noKeys() {
        #expect(Self.key(1).key.successors(following: []) == nil)
    }

    @Test("in trees of every size each leaf has a path to the root, and no leaf has another's", arguments: 1...40)
    func everySize(count: Int) throws {
        let key = Self.key(1)
        let receipts = try Self.receipts((0..<count).map { Self.leaf(UInt64($0)) }, by: key)
        for (place, receipt) in receipts.enumerated() {
            #expect(Receipt(receipt.bytes) == receipt)
            #expect(receipt.isGenuine(by: key.key))
            guard count > 1 else { continue }
            // Another leaf at this place, and this leaf at another place.
            let other = receipts[(place + 1) % count]
            let swapped = Receipt(Array(other.leafBytes) + receipt.bytes[52...])
            #expect(swapped?.isGenuine(by: key.key) == false)
            let moved = Receipt(Array(receipt.leafBytes) + other.bytes[52...])
            #expect(moved?.isGenuine(by: key.key) == false)
        }
    }

    @Test("a receipt with any changed byte, a shorter or a longer path is not genuine", arguments: [1, 2, 7, 32])
    func changed(count: Int) throws {
        let key = Self.key(1)
        let receipts = try Self.receipts((0..<count).map { Self.leaf(UInt64($0)) }, by: key)
        let receipt = try #require(receipts.last)
        for index in receipt.bytes.indices {
            var bytes = receipt.bytes
            bytes[index] ^= 1
            #expect(Receipt(bytes)?.isGenuine(by: key.key) != true, "byte \(index)")
        }
        #expect(Receipt(receipt.bytes.dropLast(32)) == nil)
        #expect(Receipt(receipt.bytes + receipt.bytes.suffix(32)) == nil)
        #expect(Receipt(receipt.bytes.dropLast()) == nil)
    }

    @Test("a root of another commit, epoch, time or key does not certify a leaf")
    func otherRoots() throws {
        let (key, other) = (Self.key(1), Self.key(1))
        let leaf = Self.leaf(1)
        let receipt = try #require(Self.receipts([leaf], by: key).first)
        let foreign = try #require(Self.receipts([Self.leaf(1)], by: key).first)
        #expect(Receipt(Array(receipt.leafBytes) + foreign.bytes[52...])?.isGenuine(by: key.key) == false)
        let later = try #require(Self.receipts([leaf], by: key, epoch: 2).first)
        #expect(later.isGenuine(by: key.key))
        let mixed = Array(receipt.bytes[..<56] + later.bytes[56..<64] + receipt.bytes[64...])
        #expect(Receipt(mixed)?.isGenuine(by: key.key) == false)
        #expect(!receipt.isGenuine(by: other.key))
        #expect(!receipt.isGenuine(by: ReceiptKey(id: 2, publicKey: key.key.publicKey)))
    }

    @Test("a node of the tree does not pass for a leaf")
    func domains() throws {
        let key = Self.key(1)
        let receipts = try Self.receipts([Self.leaf(1), Self.leaf(2)], by: key)
        let tree = MerkleTree(leaves: receipts.flatMap { Array($0.leafBytes) }, each: AttemptLeaf.byteCount)
        // A tree whose only leaf is the inner node's content has another root.
        let joined = tree.path(of: 1) + tree.path(of: 0)
        #expect(MerkleTree(leaves: joined, each: 64).root != tree.root)
    }
}
