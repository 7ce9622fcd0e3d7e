import Crypto
import Secrets
import Testing

private func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex.utf8)
    return stride(from: 0, to: digits.count, by: 2).compactMap {
        UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
    }
}

@Suite("Secrets as keys")
struct SecretKeysTests {
    /// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 13, 14 and 16.
    static let gcm: [(key: String, nonce: String, associated: String, plain: String, sealed: String)] = [
        (String(repeating: "00", count: 32), "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
        (
            String(repeating: "00", count: 32), "000000000000000000000000", "", "00000000000000000000000000000000",
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
        ),
        (
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                + "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ]

    @Test("a key opens the sealed values of the published AES-256-GCM vectors", arguments: 0..<3)
    func published(index: Int) throws {
        let vector = Self.gcm[index]
        let opened = try SecretBytes(copying: bytes(vector.key))
            .open(bytes(vector.nonce + vector.sealed), associatedData: bytes(vector.associated))
        let plain = opened.exposedBytes()
        #expect(plain == bytes(vector.plain))
    }

    @Test(
        "a sealed value can be opened, is 28 bytes longer and is different each time",
        arguments: [0, 1, 14, 15, 32, 300]
    )
    func roundTrip(count: Int) throws {
        let key = SecretBytes.random(count: 32)
        let secret = SecretBytes.random(count: count)
        let sealed = key.seal(secret, associatedData: [1])
        let again = key.seal(secret, associatedData: [1])
        let opensEqual = try key.open(sealed, associatedData: [1]).isEqual(to: secret)
        #expect(sealed.count == count + SecretBytes.sealOverhead)
        #expect(sealed != again)
        #expect(opensEqual)
    }

    @Test("a flipped bit, a truncated or extended value, another key and other associated data are rejected")
    func tampering() {
        let key = SecretBytes.random(count: 32)
        let sealed = key.seal(SecretBytes(copying: Array("a secret".utf8)), associatedData: [1, 2])
        for bit in 0..<(sealed.count * 8) {
            var altered = sealed
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            Self.expectRefused(key, altered, [1, 2])
        }
        for count in 0..<sealed.count { Self.expectRefused(key, Array(sealed[..<count]), [1, 2]) }
        Self.expectRefused(key, sealed + [0], [1, 2])
        Self.expectRefused(key, sealed, [1])
        Self.expectRefused(key, sealed, [])
        Self.expectRefused(.random(count: 32), sealed, [1, 2])
    }

    private static func expectRefused(_ key: borrowing SecretBytes, _ sealed: [UInt8], _ associatedData: [UInt8]) {
        var refused = false
        do throws(SealBroken) { _ = try key.open(sealed, associatedData: associatedData) } catch { refused = true }
        #expect(refused)
    }

    @Test("HKDF without a salt matches the vector of RFC 5869 (A.3)")
    func derivation() {
        let derived = SecretBytes(copying: [UInt8](repeating: 0x0B, count: 22)).hkdfSHA256(info: [], count: 42)
            .exposedBytes()
        let expected = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        #expect(derived == bytes(expected))
    }

    @Test("a prepared key derives the same bytes as HKDF", arguments: [1, 32, 64, 100])
    func prepared(count: Int) {
        let root = SecretBytes.random(count: count)
        let (info, prepared) = ([UInt8](repeating: 7, count: 16), HMACKey(extractedFrom: root))
        for count in [1, 31, 32, 33, 48, 64, 100] {
            let derived = prepared.derive(info: info, count: count).exposedBytes()
            #expect(derived == root.hkdfSHA256(info: info, count: count).exposedBytes())
        }
        #expect(prepared.derive(info: info).count == 32)
    }

    @Test(
        "HMAC matches the vectors of RFC 4231",
        arguments: [
            (
                [UInt8](repeating: 0x0B, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
        ]
    )
    func authentication(key: [UInt8], message: String, code: String) {
        let key = SecretBytes(copying: key)
        let message = Array(message.utf8)
        let made = key.hmacSHA256(message)
        #expect(made == bytes(code))
        // A prepared key computes the same codes, also from two parts and when it is used again.
        let prepared = HMACKey(key)
        for cut in [0, 3, message.count] {
            #expect(prepared.code(of: Array(message[..<cut]), Array(message[cut...])) == bytes(code))
        }
        #expect(prepared.code(of: message, byteCount: 8) == Array(bytes(code).prefix(8)))
        let accepted = [
            constantTimeEqual(made, bytes(code)), constantTimeEqual(key.hmacSHA256(message + [0]), bytes(code)),
            constantTimeEqual(made, Array(bytes(code).dropLast())), constantTimeEqual(made, []),
        ]
        #expect(accepted == [true, false, false, false])
    }

    @Test("the signing key has the number of the private scalar")
    func signingKey() throws {
        let wide = SecretBytes.random(count: 48)
        let key = wide.p256SigningKey()
        let scalar = wide.p256PrivateScalar().exposedBytes()
        #expect(Array(key.rawRepresentation) == scalar)
    }
}
