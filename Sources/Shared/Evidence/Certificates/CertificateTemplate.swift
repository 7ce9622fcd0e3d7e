package import Vocabulary

/// The contents of a certificate that has not been signed yet.
package struct CertificateTemplate: Sendable {
    /// The magnitude of the serial number, with the most significant byte first.
    package var serialNumber: [UInt8]
    package var subject: DistinguishedName
    package var notBefore: Timestamp
    package var notAfter: Timestamp
    package var publicKey: SubjectPublicKey
    package var extensions: [CertificateExtension]

    package init(
        serialNumber: [UInt8],
        subject: DistinguishedName,
        validity: ClosedRange<Timestamp>,
        publicKey: P256PublicKey,
        extensions: [CertificateExtension] = []
    ) {
        self.serialNumber = serialNumber
        self.subject = subject
        self.notBefore = validity.lowerBound
        self.notAfter = validity.upperBound
        self.publicKey = SubjectPublicKey(publicKey)
        self.extensions = extensions
    }

    /// Returns the certificate, signed by the issuer's key using ECDSA with SHA-256.
    package func signed(by key: SigningKey, issuer: DistinguishedName) -> [UInt8] {
        let algorithm = DERWriter.sequence(DERWriter.objectIdentifier(.ecdsaWithSHA256))
        let signedPart = DERWriter.sequence(
            DERWriter.tagged(0, DERWriter.integer(2)),
            DERWriter.integer(magnitude: self.serialNumber),
            algorithm,
            issuer.encoded,
            DERWriter.sequence(CertificateTime.write(self.notBefore), CertificateTime.write(self.notAfter)),
            self.subject.encoded,
            self.publicKey.encoded,
            self.extensions.isEmpty
                ? [] : DERWriter.tagged(3, DERWriter.sequence(of: self.extensions.map(Self.encode)))
        )
        return DERWriter.sequence(signedPart, algorithm, DERWriter.bitString(key.derSignature(for: signedPart)))
    }

    private static func encode(_ item: CertificateExtension) -> [UInt8] {
        DERWriter.sequence(
            DERWriter.objectIdentifier(item.identifier),
            item.isCritical ? DERWriter.boolean(true) : [],
            DERWriter.octetString(item.value)
        )
    }
}

extension CertificateExtension {
    /// Allows the key to sign certificates (basicConstraints).
    package static let authority = CertificateExtension(
        .basicConstraints,
        isCritical: true,
        value: DERWriter.sequence(DERWriter.boolean(true))
    )

    /// Allows the key to be used for signing certificates and revocation lists (keyUsage).
    package static let signsCertificates = CertificateExtension(
        .keyUsage,
        isCritical: true,
        value: DERWriter.bitString([0x06], unusedBits: 1)
    )

    /// Identifies the certificate's key.
    ///
    /// Strict TLS verifiers require this extension in authorities (RFC 5280 §4.2.1.2).
    package static func subjectKey(_ key: P256PublicKey) -> CertificateExtension {
        CertificateExtension(.subjectKeyIdentifier, value: DERWriter.octetString(Self.identifier(of: key)))
    }

    /// Identifies the issuer's key (RFC 5280 §4.2.1.1).
    package static func authorityKey(_ key: P256PublicKey) -> CertificateExtension {
        CertificateExtension(
            .authorityKeyIdentifier,
            value: DERWriter.sequence(DERWriter.implicit(0, Self.identifier(of: key)))
        )
    }

    /// Returns the leftmost 160 bits of the point's SHA-256 digest (RFC 7093 §2).
    private static func identifier(of key: P256PublicKey) -> [UInt8] { Array(sha256(key.bytes).bytes.prefix(20)) }

    /// Allows the key to be used for signing data (digitalSignature).
    package static let signsData = CertificateExtension(
        .keyUsage,
        isCritical: true,
        value: DERWriter.bitString([0x80], unusedBits: 7)
    )

    /// Allows the key to be used by a TLS server (id-kp-serverAuth).
    package static let servesTLS = CertificateExtension(
        .extendedKeyUsage,
        value: DERWriter.sequence(DERWriter.objectIdentifier("1.3.6.1.5.5.7.3.1"))
    )

    /// Returns an extension with the names of a TLS server: host names, and addresses of 4 or 16 bytes.
    package static func serverNames(hosts: [String], addresses: [[UInt8]]) -> CertificateExtension {
        let names = hosts.map { DERWriter.implicit(2, Array($0.utf8)) } + addresses.map { DERWriter.implicit(7, $0) }
        return CertificateExtension(.subjectAlternativeName, value: DERWriter.sequence(of: names))
    }

    package static func attestation(_ description: KeyDescription) -> CertificateExtension {
        CertificateExtension(.keyDescription, value: description.encoded)
    }

    /// Returns an extension with the nonce of an App Attest attestation: SEQUENCE { [1] OCTET STRING }.
    package static func nonce(_ nonce: SHA256Digest) -> CertificateExtension {
        CertificateExtension(
            .appAttestNonce,
            value: DERWriter.sequence(DERWriter.tagged(1, DERWriter.octetString(nonce.bytes)))
        )
    }

    /// Returns the nonce in an App Attest leaf, or nil if it is missing or has a different form.
    package static func nonce(in certificate: Certificate) -> [UInt8]? {
        guard let value = certificate.values(of: .appAttestNonce).first,
            let member = try? DERNode(parsing: value).sequence().first, member.contextTag == 1
        else { return nil }
        return try? member.onlyChild("nonce").octetString()
    }
}
