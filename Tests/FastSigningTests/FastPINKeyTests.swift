import BatchVerification
import Crypto
import Foundation
import Secrets
import Statements
import TestSupport
import Testing
import Vocabulary

@testable import FastSigning

private typealias MessageDigest = FixedBytes<SHA256DigestKind>

@Suite("Fast signatures")
struct FastPINKeyTests {
    @Test("a fast signature verifies under the PIN's key and carries its R")
    func signsAsPINKey() throws {
        guard let pin = PIN(copying: Array("024791".utf8)) else {
            Issue.record("six digits are a PIN")
            return
        }
        let salt = SecretBytes(copying: [UInt8](repeating: 5, count: 32))
        let key = FastPINKey(pin: pin, salt: salt)
        #expect(key.publicKey == PINKey(pin: pin, salt: salt).publicKey)
        let statement = Statement(
            .instructPIN,
            channelBinding: try #require(ChannelBinding([UInt8](repeating: 1, count: 32))),
            walletID: .random(),
            counter: 1,
            body: [1]
        )
        let signed = key.sign(statement)
        #expect(try #require(VerifyingKey(key.publicKey)).isValid(signed.signature, for: statement))
        #expect(P256NonceY(of: signed.signature, by: key.publicKey, for: statement) == signed.nonceY)
    }

    @Test("each signature is valid, alone and in a batch, and carries the R that its verifier recovers")
    func valid() throws {
        // More than two batches of nonces.
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

    @Test("the smallest and the largest key sign digests of 0 and of more than the order")
    func edges() throws {
        let last = try #require(
            [UInt8](hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550")
        )
        for scalar in [[UInt8](repeating: 0, count: 31) + [1], last] {
            let key = try P256.Signing.PrivateKey(rawRepresentation: scalar)
            let publicKey = try #require(P256PublicKey(key.publicKey.x963Representation))
            for byte: UInt8 in [0x00, 0xFF] {
                let digest = try #require(MessageDigest([UInt8](repeating: byte, count: 32)))
                let signed = Self.sign(digest, with: scalar)
                #expect(P256NonceY(of: signed.signature, by: publicKey, for: digest) == signed.nonceY)
            }
        }
    }

    /// Two signatures with the same nonce have the same r and reveal the key.
    @Test("no nonce signs twice, on any number of threads")
    func noncesSignOnce() async throws {
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
    ) throws -> (MessageDigest, FastSignature) {
        let digest = try #require(MessageDigest(Self.hash(number)))
        return (digest, Self.sign(digest, with: Array(key.rawRepresentation)))
    }

    private static func sign(_ digest: MessageDigest, with scalar: [UInt8]) -> FastSignature {
        let scalar = SecretBytes(copying: scalar)
        return PreparedNonces.withPooled { $0.sign(digest, scalar: scalar) }
    }

    private static func hash(_ number: Int) -> SHA256.Digest { SHA256.hash(data: Data("message \(number)".utf8)) }
}
