import COpenSSL
import Crypto
import Foundation
import BatchVerification
import TestSupport
import Testing
import Vocabulary

private typealias MessageDigest = FixedBytes<SHA256DigestKind>

@Suite("Batch verification of signatures")
struct SignatureClaimTests {
    /// RFC 6979 A.2.5, SHA-256: message, signature and the nonce k, so that R is k's public key.
    @Test(
        "R is the nonce's public key",
        arguments: [
            (
                "sample",
                "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
                    + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
                "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60"
            ),
            (
                "test",
                "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
                    + "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
                "d16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0"
            ),
        ]
    )
    func published(message: String, hex: String, nonce: String) throws {
        let signature = try #require(P256Signature(hex: hex))
        let key = try #require(
            P256PublicKey(
                hex: "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
                    + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
            )
        )
        let digest = Self.digest(message)
        let y = try #require(P256NonceY(of: signature, by: key, for: digest))
        let number = try #require([UInt8](hex: nonce))
        let point = try P256.Signing.PrivateKey(rawRepresentation: number).publicKey.rawRepresentation
        #expect(point.prefix(32).elementsEqual(signature.bytes.prefix(32)))
        #expect(point.suffix(32).elementsEqual(y.bytes))
        #expect(SignatureClaim.areTrue([SignatureClaim(signature, nonceY: y, by: key, for: digest)]) == [true])
    }

    @Test("R is not recovered from a signature that is not the key's")
    func noR() throws {
        let claim = try Self.claim(1)
        func found(_ signature: P256Signature, _ digest: MessageDigest) -> P256NonceY? {
            P256NonceY(of: signature, by: claim.key, for: digest)
        }
        #expect(found(claim.signature, claim.digest) == claim.nonceY)
        #expect(found(claim.signature, Self.digest("another")) == nil)
        for bytes in Self.outOfRange(claim.signature.bytes) {
            #expect(found(try #require(P256Signature(bytes)), claim.digest) == nil)
        }
    }

    /// Numbers that fit into 32 bytes and exceed the order q, made with Tests/interop/remote_pin.py.
    @Test(
        "r and s not below the curve's order are rejected even if the equation would hold",
        arguments: [
            // s = 1 is valid, which follows from e = k − r·d; s = q + 1 is the same number modulo q.
            (
                key: "04f9ebe464147cc102d92324d099d927c1a50e42d57a08a116ffec0a29819d8c65"
                    + "70baf7d12888902a6a0c1d67add103123c859ab69bf8e9431c9384930d4b7eee",
                r: ["dd09512ef130e802d4683268408268e04684ba7fec7980b5cc7ef8e9be49cb4d"],
                s: [Self.one, "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552"],
                y: "58164bebab4ade28df34d48e3e8b0bf7a95cd41f009f71dca4bc8a8fccb18d55",
                e: "8fbd94c693e97b6b0923880244ac3eeb723bd54b73f2e41d3836c9464389c040",
                expected: [true, false]
            ),
            // R's x coordinate is q + 3 and r therefore 3: a valid signature whose R cannot be expressed.
            (
                key: "04a2e586b5d210a625292874fdf359d1f630fd2ed3d20af03c503ecc4dbe0114a0"
                    + "0a64f31c526d760875f2d15d96cdd7f015ea4e60485e6d6f1f393c7cea0c2381",
                r: [
                    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632554",
                    String(repeating: "0", count: 63) + "3",
                ],
                s: [String(repeating: "0", count: 60) + "1111"],
                y: "484f0c0fda434ef0a808458914f328715d7a545e198ac7eee31dffe861b5d23f",
                e: String(repeating: "0", count: 60) + "2222",
                expected: [false, false]
            ),
        ]
    )
    func range(key: String, r: [String], s: [String], y: String, e: String, expected: [Bool]) throws {
        let key = try #require(P256PublicKey(hex: key))
        let digest = try #require(MessageDigest(hex: e))
        let nonceY = try #require(P256NonceY(hex: y))
        let signatures = try r.flatMap { r in try s.map { s in try #require(P256Signature(hex: r + s)) } }
        let claims = signatures.map { SignatureClaim($0, nonceY: nonceY, by: key, for: digest) }
        #expect(SignatureClaim.areTrue(claims) == expected)
        #expect(SignatureClaim.areTrue(claims, jointly: false) == expected)
        for (claim, isTrue) in zip(claims, expected) {
            #expect(SignatureClaim.areTrue([claim]) == [isTrue])
            #expect(P256NonceY(of: claim.signature, by: key, for: digest) == (isTrue ? nonceY : nil))
        }
    }

    private static let one = String(repeating: "0", count: 63) + "1"

    @Test("true claims are found true, alone and in any number", arguments: [0, 1, 2, 31, 32, 33, 70])
    func allTrue(count: Int) throws {
        let claims = try (0..<count).map { try Self.claim($0 + 1) }
        #expect(SignatureClaim.areTrue(claims) == Array(repeating: true, count: count))
    }

    @Test("a false claim is found and changes no other claim's verdict", arguments: Falsehood.allCases)
    func oneFalse(falsehood: Falsehood) throws {
        for (count, place) in [(1, 0), (2, 1), (5, 0), (5, 4), (32, 17), (40, 33)] {
            var claims = try (0..<count).map { try Self.claim($0 + 1) }
            claims[place] = try falsehood.made(of: claims[place])
            var expected = Array(repeating: true, count: count)
            expected[place] = false
            #expect(SignatureClaim.areTrue(claims) == expected, "\(count), \(place)")
            #expect(SignatureClaim.areTrue(claims, jointly: false) == expected, "\(count), \(place)")
        }
    }

    enum Falsehood: CaseIterable {
        case digest, key, offCurveKey, nonce, otherNonce, offCurveNonce, r, s, zeroR, zeroS, orderR, orderS, maximum

        func made(of claim: SignatureClaim) throws -> SignatureClaim {
            var (digest, key) = (claim.digest.bytes, claim.key.bytes)
            var (nonce, signature) = (claim.nonceY.bytes, claim.signature.bytes)
            let outOfRange = SignatureClaimTests.outOfRange(signature)
            switch self {
            case .digest: digest[31] ^= 1
            case .key: key = Array(P256.Signing.PrivateKey().publicKey.x963Representation)
            case .offCurveKey: key[64] ^= 1
            case .nonce: nonce = SignatureClaimTests.negated(nonce)
            case .otherNonce: nonce = try SignatureClaimTests.claim(99).nonceY.bytes
            case .offCurveNonce: nonce[31] ^= 1
            case .r: signature[31] ^= 1
            case .s: signature[63] ^= 1
            case .zeroR: signature = outOfRange[0]
            case .zeroS: signature = outOfRange[1]
            case .orderR: signature = outOfRange[2]
            case .orderS: signature = outOfRange[3]
            case .maximum: signature = Array(repeating: 0xFF, count: 64)
            }
            return SignatureClaim(
                try #require(P256Signature(signature)),
                nonceY: try #require(P256NonceY(nonce)),
                by: try #require(P256PublicKey(key)),
                for: try #require(MessageDigest(digest))
            )
        }
    }

    @Test("several false claims are all found")
    func severalFalse() throws {
        var claims = try (0..<12).map { try Self.claim($0 + 1) }
        var expected = Array(repeating: true, count: claims.count)
        for (place, falsehood) in [(0, Falsehood.s), (3, .offCurveNonce), (4, .digest), (11, .zeroR)] {
            claims[place] = try falsehood.made(of: claims[place])
            expected[place] = false
        }
        #expect(SignatureClaim.areTrue(claims) == expected)
        let allFalse = try claims.indices.map { try Falsehood.digest.made(of: Self.claim($0 + 1)) }
        #expect(SignatureClaim.areTrue(allFalse) == Array(repeating: false, count: claims.count))
    }

    /// An attacker who sends both claims can make the error of one the negative of the other's, here G and −G.
    ///
    /// Only factors that the attacker does not know distinguish them from true claims.
    @Test("errors that cancel each other are found")
    func cancelling() throws {
        let honest = (try Self.claim(1), try Self.claim(2))
        func shifted(_ claim: SignatureClaim, by difference: Int) throws -> SignatureClaim {
            var digest = claim.digest.bytes
            // The messages are constant, and no digest of them ends with 0 or 255: no carry occurs.
            try #require(digest[31] > 0 && digest[31] < 255)
            digest[31] = UInt8(Int(digest[31]) + difference)
            let shifted = try #require(MessageDigest(digest))
            return SignatureClaim(claim.signature, nonceY: claim.nonceY, by: claim.key, for: shifted)
        }
        let claims = [try shifted(honest.0, by: 1), try shifted(honest.1, by: -1)]
        // Enough tries that a factor of one byte would let them pass.
        for _ in 0..<2_000 { try #require(SignatureClaim.areTrue(claims) == [false, false]) }
        #expect(SignatureClaim.areTrue([honest.0, honest.1]) == [true, true])
        // A signature and its negative, −R and −s, which is also valid.
        let negative = try Self.negated(honest.0)
        #expect(SignatureClaim.areTrue([honest.0, negative]) == [true, true])
        let wrongSigns = [
            SignatureClaim(honest.0.signature, nonceY: negative.nonceY, by: honest.0.key, for: honest.0.digest),
            SignatureClaim(negative.signature, nonceY: honest.0.nonceY, by: honest.0.key, for: honest.0.digest),
        ]
        #expect(SignatureClaim.areTrue(wrongSigns) == [false, false])
    }

    @Test("a claim with any alteration is true only if swift-crypto finds the signature valid")
    func agreement() throws {
        var generator = SystemRandomNumberGenerator()
        for round in 0..<40 {
            let claims = try (0..<8).map { number -> SignatureClaim in
                let claim = try Self.claim(number + 1)
                guard Bool.random(using: &generator) else { return claim }
                var (signature, key) = (claim.signature.bytes, claim.key.bytes)
                let bit = Int.random(in: 0..<1024, using: &generator)
                if bit < 512 { signature[bit / 8] ^= 1 << UInt8(bit % 8) } else { key[1 + bit % 64] ^= 1 }
                return SignatureClaim(
                    try #require(P256Signature(signature)),
                    nonceY: claim.nonceY,
                    by: try #require(P256PublicKey(key)),
                    for: claim.digest
                )
            }
            let alone = claims.enumerated().map { number, claim in
                guard let key = try? P256.Signing.PublicKey(x963Representation: claim.key.bytes),
                    let signature = try? P256.Signing.ECDSASignature(rawRepresentation: claim.signature.bytes)
                else { return false }
                return key.isValidSignature(signature, for: Data("message \(number + 1)".utf8))
            }
            #expect(SignatureClaim.areTrue(claims) == alone, "round \(round)")
            #expect(SignatureClaim.areTrue(claims, jointly: false) == alone, "round \(round)")
        }
    }

    /// libssl reads the queue to learn if its own calls failed.
    @Test("errors about points off the curve do not stay in the thread's queue, and earlier errors do")
    func errorQueue() throws {
        let claim = try Self.claim(1)
        let bad = try [Falsehood.offCurveKey, .offCurveNonce].map { try $0.made(of: claim) }
        let claims = [claim] + Array(repeating: bad, count: 20).flatMap(\.self)
        for errors in 0...1 {
            ERR_clear_error()
            // An error of another caller: 0 names no curve.
            if errors == 1 { #expect(unsafe EC_GROUP_new_by_curve_name(0) == nil) }
            let before = ERR_peek_last_error()
            #expect(SignatureClaim.areTrue(claims) == [true] + Array(repeating: false, count: 40))
            #expect(P256NonceY(of: claim.signature, by: bad[0].key, for: claim.digest) == nil)
            #expect(ERR_peek_last_error() == before && ERR_peek_error() == before)
        }
        ERR_clear_error()
    }

    @Test("verdicts are right on many threads at once")
    func threads() async throws {
        await withTaskGroup { group in
            for number in 0..<16 {
                group.addTask {
                    guard let claims = try? (0..<8).map({ try Self.claim($0 + 1) }),
                        let bad = try? Falsehood.s.made(of: claims[number % 8])
                    else { return false }
                    var mixed = claims
                    mixed[number % 8] = bad
                    let expected = mixed.indices.map { $0 != number % 8 }
                    return (0..<4).allSatisfy { _ in SignatureClaim.areTrue(mixed) == expected }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    private static let key = P256.Signing.PrivateKey()

    static func claim(_ number: Int) throws -> SignatureClaim {
        let message = "message \(number)"
        let signature = try #require(
            P256Signature(try Self.key.signature(for: Data(message.utf8)).rawRepresentation)
        )
        let publicKey = try #require(P256PublicKey(Self.key.publicKey.x963Representation))
        let y = try #require(P256NonceY(of: signature, by: publicKey, for: Self.digest(message)))
        return SignatureClaim(signature, nonceY: y, by: publicKey, for: Self.digest(message))
    }

    private static func digest(_ message: String) -> MessageDigest {
        guard let digest = MessageDigest(SHA256.hash(data: Data(message.utf8))) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return digest
    }

    /// The claim with q − s for s, and R's negative.
    private static func negated(_ claim: SignatureClaim) throws -> SignatureClaim {
        let s = Self.difference(Self.order, Array(claim.signature.bytes[32...]))
        return SignatureClaim(
            try #require(P256Signature(Array(claim.signature.bytes[..<32]) + s)),
            nonceY: try #require(P256NonceY(Self.negated(claim.nonceY.bytes))),
            by: claim.key,
            for: claim.digest
        )
    }

    /// Signatures with r and s of 0 and of the curve's order.
    static func outOfRange(_ signature: [UInt8]) -> [[UInt8]] {
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        let zero = [UInt8](repeating: 0, count: 32)
        return [zero + s, r + zero, Self.order + s, r + Self.order]
    }

    static func negated(_ y: [UInt8]) -> [UInt8] { Self.difference(Self.prime, y) }

    private static let order = [UInt8](hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551") ?? []
    private static let prime = [UInt8](hex: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff") ?? []

    /// The difference of two big-endian numbers of the same length, the first the greater.
    private static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var (result, borrow) = (left, 0)
        for index in left.indices.reversed() {
            let digit = Int(left[index]) - Int(right[index]) - borrow
            borrow = digit < 0 ? 1 : 0
            result[index] = UInt8(digit + 256 * borrow)
        }
        return result
    }
}
