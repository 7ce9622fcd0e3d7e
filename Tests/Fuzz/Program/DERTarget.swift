internal import AttestationVerifier
internal import Evidence
internal import Lab
internal import Vocabulary

/// The parsers of certificates and of their contents, for inputs that are not repaired.
final class DERTarget: FuzzTarget {
    let format: InputFormat? = .der

    func run(_ input: [UInt8]) {
        if let certificate = try? Certificate(decoding: input) {
            require(certificate.encoded == input, "the encoding of a certificate differs from its input")
            _ = certificate.isAuthority
            _ = certificate.publicKey.p256
            _ = certificate.subject.matches(certificate.issuer)
            for value in certificate.values(of: .keyDescription) { _ = try? KeyDescription(decoding: value) }
            _ = CertificateExtension.nonce(in: certificate)
        }
        if let description = try? KeyDescription(decoding: input) { _ = description.encoded }
        _ = try? SubjectPublicKey(decoding: input)
        _ = try? AppAttestReceipt(decoding: input)
        let text = String(decoding: input, as: UTF8.self)
        for certificate in PEM.certificates(in: text) ?? [] { _ = try? Certificate(decoding: certificate) }
        _ = StatusList(json: input, fetched: AndroidTarget.time)
    }

    var words: [String] {
        [
            "-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n",
            "{\"entries\":{\"0a\":{\"status\":\"REVOKED\"}}}",
        ]
    }

    var seeds: [[UInt8]] {
        let authority = LabAuthority()
        let description = AndroidPhone().keyDescription(challenge: AndroidTarget.challenge, at: AndroidTarget.time)
        let chain = authority.androidChain(
            for: TestKeys.chain[0].publicKey,
            description: description,
            at: AndroidTarget.time
        )
        let texts = ["3000", "3080", "30847fffffff", "30030201ff", "3003020100"].compactMap { [UInt8](hex: $0) }
        return chain + texts + [
            description.encoded, SubjectPublicKey(TestKeys.root.publicKey).encoded,
            Array(PEM.certificates([chain[0]]).utf8), Array(LabAuthority.statusList.utf8),
        ]
    }
}

/// The decoders of CBOR.
final class CBORTarget: FuzzTarget {
    let format: InputFormat? = .cbor

    func run(_ input: [UInt8]) {
        // A strict decoder accepts one encoding of each value, so encoding it gives the same bytes.
        if let item = try? CBOR(decoding: input) { require(item.encoded == input, "CBOR changes when it is read") }
        if let found = try? CBOR.items(leniently: input[...]), found.isStrict {
            require(found.items.flatMap(\.encoded) == input, "a form that is not strict passes for strict")
        }
        _ = try? AppAttestObject(decoding: input)
        _ = try? AppAttestAssertion(decoding: input)
        for hasCredential in [true, false] {
            _ = try? AuthenticatorData(decoding: input, withCredential: hasCredential)
        }
    }

    var words: [String] { ["fmt", "attStmt", "authData", "x5c", "receipt", "apple-appattest", "signature"] }

    var seeds: [[UInt8]] {
        let texts = [
            "80", "a0", "9a04000000", "bb7fffffffffffffff", "a2616101616202", "8181818181818181", "f6", "1818",
        ]
        return AppleTarget().seeds.map { Array($0.dropFirst()) } + texts.compactMap { [UInt8](hex: $0) }
            + [AppAttestKey(TestKeys.chain[0], appID: LabApp.iOSAppID).attestedData.encoded]
    }
}
