import Crypto
import Foundation
import BatchVerification
import Secrets
import Testing
import Vocabulary

private typealias MessageDigest = FixedBytes<SHA256DigestKind>

@Suite("Signatures whose nonces are made many at a time")
struct ToldSignatureTests {
    @Test("each is valid, alone and together, and tells the R that everybody finds")
    func valid() throws {
        // More than are made at a time, twice over.
        let claims = try (0..<70).map { number in
            let key = P256.Signing.PrivateKey()
            let (digest, signed) = try Self.signed(number, by: key)
            let publicKey = try #require(P256PublicKey(key.publicKey.x963Representation))
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: signed.signature.bytes)
            #expect(key.publicKey.isValidSignature(signature, for: Self.hash(number)))
            #expect(P256NonceY(of: signed.signature, by: publicKey, for: digest) == signed.nonceY)
            let claim = SignatureClaim(signed.signature, nonceY: signed.nonceY, by: publicKey, for: digest)
            #expect(SignatureClaim.areTrue([claim]) == [true])
            return claim
        }
        #expect(SignatureClaim.areTrue(claims) == claims.map { _ in true })
    }

    /// The keys at both ends of what a key can be, and digests that are greater than the order and 0.
    @Test("numbers at the edges")
    func edges() throws {
        let last = try #require(
            [UInt8](hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550")
        )
        for scalar in [[UInt8](repeating: 0, count: 31) + [1], last] {
            let key = try P256.Signing.PrivateKey(rawRepresentation: scalar)
            let publicKey = try #require(P256PublicKey(key.publicKey.x963Representation))
            for byte: UInt8 in [0x00, 0xFF] {
                let digest = try #require(MessageDigest([UInt8](repeating: byte, count: 32)))
                let signed = ToldSignature.quick(of: digest, byPrivate: SecretBytes(copying: scalar))
                #expect(P256NonceY(of: signed.signature, by: publicKey, for: digest) == signed.nonceY)
            }
        }
    }

    /// Two signatures with one nonce have the same r, and give the key away.
    @Test("no nonce signs twice, whoever signs and on however many threads")
    func once() async throws {
        let key = P256.Signing.PrivateKey()
        let publicKey = try #require(P256PublicKey(key.publicKey.x963Representation))
        let claims = await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<100).compactMap { number -> SignatureClaim? in
                        guard let (digest, signed) = try? Self.signed(number, by: key) else { return nil }
                        return SignatureClaim(signed.signature, nonceY: signed.nonceY, by: publicKey, for: digest)
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(claims.count == 800 && SignatureClaim.areTrue(claims) == claims.map { _ in true })
        #expect(Set(claims.map { $0.signature.bytes.prefix(32) }).count == 800)
    }

    private static func signed(
        _ number: Int,
        by key: P256.Signing.PrivateKey
    ) throws -> (MessageDigest, ToldSignature) {
        let digest = try #require(MessageDigest(Self.hash(number)))
        let scalar = SecretBytes(copying: Array(key.rawRepresentation))
        return (digest, .quick(of: digest, byPrivate: scalar))
    }

    private static func hash(_ number: Int) -> SHA256.Digest { SHA256.hash(data: Data("message \(number)".utf8)) }
}
