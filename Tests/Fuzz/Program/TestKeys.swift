internal import Crypto
internal import Evidence
internal import Vocabulary

/// The keys of test devices and their authorities.
///
/// They are the same in each process, so that a saved input stays valid.
enum TestKeys {
    /// The root of all chains.
    static let root = Self.key("root")
    /// The keys of certificates, leaf first.
    static let chain = (0..<12).map { Self.key("certificate \($0)") }

    static let rootCertificate = CertificateTemplate(
        serialNumber: [1],
        subject: DistinguishedName(commonName: "Fuzz Root", serialNumber: "1ab0"),
        validity: Timestamp(milliseconds: 0)...Timestamp(milliseconds: 2_840_140_800_000),
        publicKey: Self.root.publicKey,
        extensions: [.authority]
    ).signed(by: Self.root, issuer: DistinguishedName(commonName: "Fuzz Root", serialNumber: "1ab0"))

    static func key(_ name: String) -> SigningKey {
        let digest = sha256(Array("remote-pin fuzz key: \(name)".utf8)).bytes
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: digest) else {
            fatalError("one digest in 2³² is no key of P-256")
        }
        return SigningKey(key)
    }
}
