import Evidence
import Testing
import Vocabulary

@Suite("App Attest objects, written and read")
struct AppAttestTests {
    private let key = SigningKey()
    private let hash = sha256([1])

    private func data(credential: Bool, extensions: AppAttestExtensions? = nil) -> AuthenticatorData {
        AuthenticatorData(
            rpIDHash: self.hash,
            flags: AuthenticatorData.hasCredential,
            counter: 0x0102_0304,
            credential: credential
                ? AuthenticatorData.Credential(
                    aaguid: AppAttestEnvironment.production.aaguid,
                    id: self.hash.bytes,
                    key: AuthenticatorData.Credential.coseKey(self.key.publicKey)
                ) : nil,
            extensions: extensions
        )
    }

    @Test("authenticator data is read as it was written", arguments: [true, false], [true, false])
    func dataRoundTrip(credential: Bool, extended: Bool) throws {
        let extensions = AppAttestExtensions(validationCategory: .appStore, bundleVersion: "1")
        let data = self.data(credential: credential, extensions: extended ? extensions : nil)
        #expect(try AuthenticatorData(decoding: data.encoded, withCredential: credential) == data)
    }

    @Test("the credential's key is the given P-256 key, and every other form is rejected")
    func coseKey() {
        var credential = AuthenticatorData.Credential(aaguid: [], id: [], key: .null)
        #expect(credential.publicKey == nil)
        credential.key = AuthenticatorData.Credential.coseKey(self.key.publicKey)
        #expect(credential.publicKey == self.key.publicKey)
        let x = CBOR.Entry(.integer(-2), .bytes(Array(repeating: 1, count: 31)))
        let y = CBOR.Entry(.integer(-3), .bytes(Array(repeating: 1, count: 33)))
        let kind = [
            CBOR.Entry(.integer(1), .integer(2)), CBOR.Entry(.integer(3), .integer(-7)),
            CBOR.Entry(.integer(-1), .integer(1)),
        ]
        credential.key = .map(kind + [x, y])
        #expect(credential.publicKey == nil)
    }

    @Test("data with missing or trailing bytes is rejected with a specific error")
    func brokenData() {
        let attestation = self.data(credential: true).encoded
        let assertion = self.data(credential: false).encoded
        #expect(throws: AuthenticatorDataError.truncated) {
            try AuthenticatorData(decoding: Array(assertion.prefix(36)), withCredential: false)
        }
        for bytes in [[1, 2, 3], [0xA0, 0x00], [0xA0, 0xFF]] as [[UInt8]] {
            #expect(throws: AuthenticatorDataError.extensions) {
                try AuthenticatorData(decoding: assertion + bytes, withCredential: false)
            }
        }
        #expect(throws: AuthenticatorDataError.truncated) {
            try AuthenticatorData(decoding: Array(attestation.prefix(60)), withCredential: true)
        }
        #expect(throws: AuthenticatorDataError.credentialKey) {
            try AuthenticatorData(decoding: attestation.dropLast(), withCredential: true)
        }
        var clear = attestation
        clear[32] = 0
        #expect(throws: AuthenticatorDataError.noCredential) {
            try AuthenticatorData(decoding: clear, withCredential: true)
        }
    }

    @Test("an attestation object is read as it was written")
    func objectRoundTrip() throws {
        let object = AppAttestObject(certificates: [[1], [2, 3]], receipt: [4], authenticatorData: [5])
        #expect(try AppAttestObject(decoding: object.encoded) == object)
    }

    @Test(
        "an object of another format, without a member or with one of another type, is rejected with a specific error"
    )
    func brokenObjects() {
        var object = AppAttestObject(certificates: [[1]], receipt: nil, authenticatorData: [5])
        object.format = "packed"
        #expect(throws: AppAttestObjectError.unknownFormat) { try AppAttestObject(decoding: object.encoded) }
        #expect(throws: AppAttestObjectError.member("fmt")) { try AppAttestObject(decoding: [0x80]) }
        #expect(throws: AppAttestObjectError.cbor(.truncated)) { try AppAttestObject(decoding: []) }
        let format = CBOR.Entry(.text("fmt"), .text(AppAttestObject.knownFormat))
        #expect(throws: AppAttestObjectError.member("x5c")) {
            try AppAttestObject(decoding: CBOR.map([format]).encoded)
        }
        let chain = CBOR.map([CBOR.Entry(.text("x5c"), .array([.text("no bytes")]))])
        let statement = CBOR.Entry(.text("attStmt"), chain)
        #expect(throws: AppAttestObjectError.member("authData")) {
            try AppAttestObject(decoding: CBOR.map([format, statement]).encoded)
        }
        let data = CBOR.Entry(.text("authData"), .bytes([]))
        #expect(throws: AppAttestObjectError.certificates) {
            try AppAttestObject(decoding: CBOR.map([format, statement, data]).encoded)
        }
    }

    @Test("an assertion is read as it was written, and rejected if it contains text instead of bytes")
    func assertion() throws {
        let assertion = AppAttestAssertion(signature: [1], authenticatorData: [2])
        #expect(try AppAttestAssertion(decoding: assertion.encoded) == assertion)
        let text = CBOR.map([
            CBOR.Entry(.text("signature"), .bytes([1])), CBOR.Entry(.text("authenticatorData"), .text("x")),
        ])
        #expect(throws: AppAttestObjectError.member("authenticatorData")) {
            try AppAttestAssertion(decoding: text.encoded)
        }
    }

    @Test("each environment has its own name in the data")
    func environments() {
        #expect(AppAttestEnvironment(aaguid: Array("appattestdevelop".utf8)) == .development)
        #expect(AppAttestEnvironment(aaguid: Array("appattest\0\0\0\0\0\0\0".utf8)) == .production)
        #expect(AppAttestEnvironment(aaguid: Array("appattestproduct".utf8)) == nil)
    }

    @Test("bytes that are not a receipt are rejected", arguments: ["", "30", "3000", "308000", "30800000"])
    func receipts(hex: String) throws {
        let bytes = try #require([UInt8](hex: hex))
        #expect(throws: DERError.self) { try AppAttestReceipt(decoding: bytes) }
    }
}
