import Evidence
import TestSupport
import Testing
import Vocabulary

@Suite("Certificates, written and read")
struct CertificateTests {
    private let key = SigningKey()
    private let issuer = DistinguishedName(commonName: "Issuer", organization: "Org", serialNumber: "0a1b")

    private func encoded(
        serialNumber: [UInt8] = [0x00, 0xD5, 0x0F],
        from start: Int64 = 0,
        to end: Int64 = 4_102_444_800_000,
        extensions: [CertificateExtension] = [.authority, .signsCertificates]
    ) -> [UInt8] {
        CertificateTemplate(
            serialNumber: serialNumber,
            subject: DistinguishedName(commonName: "Subject"),
            validity: Timestamp(milliseconds: start)...Timestamp(milliseconds: end),
            publicKey: self.key.publicKey,
            extensions: extensions
        ).signed(by: self.key, issuer: self.issuer)
    }

    @Test("a certificate is read as it was written")
    func roundTrip() throws {
        let certificate = try Certificate(decoding: self.encoded())
        #expect(certificate.serialNumber == "d50f")
        #expect(certificate.subject.commonName == "Subject")
        #expect(certificate.issuer == self.issuer)
        #expect(certificate.issuer.serialNumber == "0a1b")
        #expect(certificate.notBefore == Timestamp(milliseconds: 0))
        #expect(certificate.notAfter == Timestamp(milliseconds: 4_102_444_800_000))
        #expect(certificate.publicKey.p256 == self.key.publicKey)
        #expect(certificate.publicKey.kind.description == "EC-P-256")
        #expect(certificate.isAuthority)
        #expect(!certificate.hasSignatureParameters)
        #expect(certificate.isAlgorithmConsistent)
    }

    @Test("a certificate without basicConstraints is not a CA")
    func notAuthority() throws {
        #expect(try !Certificate(decoding: self.encoded(extensions: [.signsData])).isAuthority)
        #expect(try !Certificate(decoding: self.encoded(extensions: [])).isAuthority)
    }

    @Test("both occurrences of a repeated extension are reported")
    func twice() throws {
        let twice = CertificateExtension(.keyDescription, value: [5, 0])
        let certificate = try Certificate(decoding: self.encoded(extensions: [twice, twice]))
        #expect(certificate.values(of: .keyDescription) == [[5, 0], [5, 0]])
    }

    @Test(
        "serial numbers are hexadecimal without leading zeros",
        arguments: [([0x01], "1"), ([0x00], "0"), ([0xFF], "ff"), ([0x0A, 0xBC], "abc")] as [([UInt8], String)]
    )
    func serials(bytes: [UInt8], text: String) throws {
        #expect(try Certificate(decoding: self.encoded(serialNumber: bytes)).serialNumber == text)
    }

    @Test("a certificate with trailing or missing bytes is rejected")
    func cut() {
        let encoded = self.encoded()
        #expect(throws: DERError.self) { try Certificate(decoding: encoded + [0]) }
        for count in 0..<encoded.count {
            #expect(throws: DERError.self) { try Certificate(decoding: Array(encoded.prefix(count))) }
        }
    }

    @Test("changed bytes are read or rejected, and never end the process", arguments: 1...4 as ClosedRange<UInt64>)
    func mutations(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let encoded = self.encoded()
        for _ in 0..<500 {
            var changed = encoded
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                changed[Int.random(in: 0..<changed.count, using: &generator)] = .random(
                    in: .min ... .max,
                    using: &generator
                )
            }
            _ = try? Certificate(decoding: changed)
        }
    }

    @Test(
        "dates are read back, on both sides of 1950 to 2049",
        arguments: [
            "1970-01-01T00:00:00Z", "1950-01-01T00:00:00Z", "1949-12-31T23:59:59Z", "2000-02-29T12:34:56Z",
            "2049-12-31T23:59:59Z", "2050-01-01T00:00:00Z", "2100-03-01T00:00:00Z", "9999-12-31T23:59:59Z",
        ]
    )
    func dates(text: String) throws {
        let time = try #require(Timestamp(iso8601: text))
        #expect(time.iso8601 == text)
        let certificate = try Certificate(decoding: self.encoded(from: time.milliseconds, to: 253_402_300_799_000))
        #expect(certificate.notBefore == time)
    }

    @Test("names match regardless of letter case and spaces")
    func names() {
        let name = DistinguishedName(commonName: "Droid  CA1", organization: "Google LLC")
        #expect(name.matches(DistinguishedName(commonName: "droid CA1", organization: "GOOGLE LLC ")))
        #expect(!name.matches(DistinguishedName(commonName: "Droid CA2", organization: "Google LLC")))
        #expect(!name.matches(DistinguishedName(commonName: "Droid CA1")))
    }

    @Test("PEM blocks are read back in order", arguments: 0...4)
    func pem(count: Int) throws {
        let certificates = (0..<count).map { Array(repeating: UInt8($0), count: 47 + $0) }
        #expect(PEM.certificates(in: PEM.certificates(certificates)) == certificates)
    }

    @Test(
        "broken PEM is rejected",
        arguments: [
            "-----BEGIN CERTIFICATE-----\nAAAA\n", "-----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nA*AA\n-----END CERTIFICATE-----\n", "-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        ]
    )
    func brokenPEM(text: String) {
        #expect(PEM.certificates(in: text) == nil)
    }

    @Test("a key is read back from PEM")
    func keyPEM() throws {
        let copy = try #require(SigningKey(pem: self.key.pem))
        #expect(copy.publicKey == self.key.publicKey)
        #expect(SigningKey(pem: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n") == nil)
    }

    @Test("a lab's certificates are recognized by their names")
    func labMark() throws {
        #expect(try !Certificate(decoding: self.encoded()).isOfLab)
        let lab = DistinguishedName(commonName: "x", organization: DistinguishedName.labOrganization)
        let template = CertificateTemplate(
            serialNumber: [1],
            subject: lab,
            validity: Timestamp(milliseconds: 0)...Timestamp(milliseconds: 1),
            publicKey: self.key.publicKey
        )
        #expect(try Certificate(decoding: template.signed(by: self.key, issuer: self.issuer)).isOfLab)
    }
}

extension CertificateTests {
    @Test(
        "a structure of more values than any certificate has is rejected before it is parsed",
        arguments: [[0x05, 0x00], [0x30, 0x00], [0x24, 0x00], [0xBF, 0x1F, 0x00]] as [[UInt8]]
    )
    func manyValues(value: [UInt8]) {
        let content = Array(repeating: value, count: 2048).flatMap { $0 }
        let encoded: [UInt8] = [0x30, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
        #expect(throws: DERError.tooManyValues) { try Certificate(decoding: encoded) }
        #expect(throws: DERError.tooManyValues) { try KeyDescription(decoding: encoded) }
        #expect(throws: DERError.tooManyValues) { try AppAttestReceipt(decoding: encoded) }
    }
}
