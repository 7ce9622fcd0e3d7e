internal import AttestationVerifier
internal import Evidence
internal import Vocabulary

/// The facts in accepted and rejected evidence, using the names from manifests.
enum ManifestFacts {
    static func android(_ chain: [[UInt8]], roots: [(name: String, certificate: [UInt8])]) -> ManifestValue {
        let certificates = chain.compactMap { try? Certificate(decoding: $0) }
        guard certificates.count == chain.count, let leaf = certificates.first else { return .object([:]) }
        let attested = certificates.indices.filter { !certificates[$0].values(of: .keyDescription).isEmpty }
        var facts: [String: ManifestValue] = [
            "chain_length": .number(certificates.count),
            "provisioning": .string(Provisioning(certificates).rawValue),
            "leaf": Self.leaf(leaf),
            "serials": .array(certificates.map { .string($0.serialNumber) }),
            "attestation_extension_in": .array(attested.map { .number($0) }),
            "root": .text(Self.rootName(certificates, roots)),
        ]
        if let value = leaf.values(of: .keyDescription).first, let description = try? KeyDescription(decoding: value) {
            facts["key_description"] = Self.keyDescription(description)
            facts["notes"] = .array(Self.notes(certificates, description).map { .string($0) })
        }
        return .object(facts)
    }

    static func appleAttestation(_ encoded: [UInt8]) -> ManifestValue {
        guard let object = try? AppAttestObject(decoding: encoded), let first = object.certificates.first,
            let leaf = try? Certificate(decoding: first)
        else { return .object([:]) }
        let apple = AppleCertificateFacts(leaf)
        var facts: [String: ManifestValue] = [
            "leaf": Self.leaf(leaf),
            "certificate_app_id": .text(apple.appID),
            "os_version": .text(apple.osVersion),
            "os_build": .text(apple.osBuild),
            "platform": .text(apple.platform),
            "extension_oids": .array(leaf.extensions.map(\.identifier.description).sorted().map { .string($0) }),
            "public_key_x963": .string(leaf.publicKey.content.hex),
            "key_id": .string(sha256(leaf.publicKey.content).description),
        ]
        if let data = try? AuthenticatorData(decoding: object.authenticatorData, withCredential: true) {
            facts["auth_data"] = Self.authenticatorData(data, byteCount: object.authenticatorData.count)
            let environment = data.credential.flatMap { AppAttestEnvironment(aaguid: $0.aaguid) }
            facts["environment"] = .text(environment?.rawValue)
        }
        if let receipt = object.receipt.flatMap({ try? AppAttestReceipt(decoding: $0) }) {
            facts["receipt"] = Self.receipt(receipt)
        }
        return .object(facts)
    }

    static func appleAssertion(_ encoded: [UInt8]) -> ManifestValue {
        guard let assertion = try? AppAttestAssertion(decoding: encoded),
            let data = try? AuthenticatorData(decoding: assertion.authenticatorData, withCredential: false)
        else { return .object([:]) }
        return .object([
            "counter": .number(data.counter),
            "auth_data": Self.authenticatorData(data, byteCount: assertion.authenticatorData.count),
        ])
    }

    private static func leaf(_ certificate: Certificate) -> ManifestValue {
        .object([
            "serial": .string(certificate.serialNumber),
            "spki_sha256": .string(sha256(certificate.publicKey.encoded).description),
            "key": .string(certificate.publicKey.kind.description),
            "not_before": .string(Self.date(certificate.notBefore)),
            "not_after": .string(Self.date(certificate.notAfter)),
            "subject_cn": .text(certificate.subject.commonName),
        ])
    }

    private static func date(_ time: Timestamp) -> String { time.iso8601.dropLast() + "+00:00" }

    /// Returns the name of the anchor whose certificate is at the end of the chain.
    ///
    /// If no anchor has that certificate, returns the name of the first anchor with the same key.
    private static func rootName(
        _ certificates: [Certificate],
        _ roots: [(name: String, certificate: [UInt8])]
    ) -> String? {
        guard let last = certificates.last else { return nil }
        let same = roots.first { $0.certificate == last.encoded }
        return (same ?? roots.first { (try? Certificate(decoding: $0.certificate))?.publicKey == last.publicKey })?.name
    }

    private static func authenticatorData(_ data: AuthenticatorData, byteCount: Int) -> ManifestValue {
        var facts: [String: ManifestValue] = [
            "rp_id_hash": .string(data.rpIDHash.description),
            "flags": .string("0x" + [data.flags].hex),
            "counter": .number(data.counter),
            "length": .number(byteCount),
        ]
        if let credential = data.credential {
            facts["aaguid"] = .string(credential.aaguid.hex)
            facts["credential_id"] = .string(credential.id.hex)
        }
        if let extensions = data.extensions { facts["extensions"] = Self.value(.map(extensions.entries)) }
        return .object(facts)
    }

    private static func value(_ item: CBOR) -> ManifestValue {
        switch item {
        case .unsigned(let value): .integer(Int128(value))
        case .negative(let value): .integer(-1 - Int128(value))
        case .bytes(let bytes): .object(["hex": .string(bytes.hex)])
        case .text(let text): .string(text)
        case .array(let items): .array(items.map(Self.value))
        case .map(let entries):
            .object(
                Dictionary(
                    entries.map { (Self.key($0.key), Self.value($0.value)) },
                    uniquingKeysWith: { first, _ in first }
                )
            )
        case .boolean(let value): .boolean(value)
        case .null: .null
        case .other(let encoded): .object(["cbor": .string(encoded.hex)])
        }
    }

    private static func key(_ item: CBOR) -> String {
        if case .text(let text) = item { return text }
        return Self.value(item).description
    }
}
