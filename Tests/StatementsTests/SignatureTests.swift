import Secrets
@testable import Statements
import Testing
import Vocabulary

@Suite("Signatures")
struct SignatureTests {
    /// RFC 6979 A.2.5, with SHA-256.
    static let publicKey = P256PublicKey(
        hex: "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
            + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
    )

    static let signatures = [
        "sample": "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
            + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        "test": "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
            + "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
    ]

    @Test(
        "the signatures of RFC 6979 are valid; the message is hashed once",
        arguments: signatures.sorted { $0.key < $1.key }
    )
    func published(message: String, hex: String) throws {
        let publicKey = try #require(Self.publicKey)
        let key = try #require(VerifyingKey(publicKey))
        let signature = try #require(P256Signature(hex: hex))
        #expect(key.isValid(signature, forBytes: Array(message.utf8)))
        #expect(!key.isValid(signature, forBytes: Array((message + " ").utf8)))
    }

    @Test("bytes that are not a point on the curve are not a key")
    func offCurve() throws {
        var bytes = try #require(Self.publicKey).bytes
        bytes[64] ^= 1
        let others = [[4] + [UInt8](repeating: 0, count: 64), [4] + [UInt8](repeating: 0xFF, count: 64), bytes]
        for other in others {
            let key = try #require(P256PublicKey(other))
            #expect(VerifyingKey(key) == nil)
        }
    }

    @Test("a signature is valid for one purpose, connection, wallet, counter and body only")
    func boundToEverything() throws {
        let key = try Self.pinKey("024791")
        let verifying = try #require(VerifyingKey(key.publicKey))
        let signed = try Self.statement()
        let signature = key.sign(signed)
        #expect(verifying.isValid(signature, for: signed))
        for other in [
            try Self.statement(purpose: .newPIN), try Self.statement(binding: 7), try Self.statement(wallet: 7),
            try Self.statement(counter: 2), try Self.statement(body: [1, 2]), try Self.statement(body: []),
        ] {
            #expect(!verifying.isValid(signature, for: other))
        }
    }

    @Test("a signature with a flipped bit, a zero or the order of the curve is rejected")
    func tampering() throws {
        let key = try Self.pinKey("024791")
        let verifying = try #require(VerifyingKey(key.publicKey))
        let statement = try Self.statement()
        let signature = key.sign(statement).bytes
        for bit in 0..<512 {
            var altered = signature
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            let forged = try #require(P256Signature(altered))
            #expect(!verifying.isValid(forged, for: statement))
        }
        let zero = [UInt8](repeating: 0, count: 32)
        let order = try #require(
            [UInt8](hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        )
        for half in [zero, order] {
            for altered in [half + signature[32...], signature[..<32] + half, half + half] {
                let forged = try #require(P256Signature(altered))
                #expect(!verifying.isValid(forged, for: statement))
            }
        }
    }

    @Test("the key depends on the PIN and the salt, and only on them")
    func keyDependsOnBoth() throws {
        let key = try Self.pinKey("024791").publicKey
        let again = try Self.pinKey("024791").publicKey
        let otherPIN = try Self.pinKey("024792").publicKey
        let otherSalt = try Self.pinKey("024791", salt: 6).publicKey
        #expect(again == key)
        #expect(Set([key, otherPIN, otherSalt]).count == 3)
    }

    static func pinKey(_ digits: String, salt: UInt8 = 5) throws -> PINKey {
        guard let pin = PIN(copying: Array(digits.utf8)) else { throw NoPIN() }
        return PINKey(pin: pin, salt: SecretBytes(copying: [UInt8](repeating: salt, count: 32)))
    }

    struct NoPIN: Error {}

    static func statement(
        purpose: Purpose = .instructPIN,
        binding: UInt8 = 1,
        wallet: UInt8 = 2,
        counter: UInt64 = 1,
        body: [UInt8] = [1]
    ) throws -> Statement {
        Statement(
            purpose,
            channelBinding: try #require(ChannelBinding([UInt8](repeating: binding, count: 32))),
            walletID: try #require(WalletID([UInt8](repeating: wallet, count: 16))),
            counter: counter,
            body: body
        )
    }
}
