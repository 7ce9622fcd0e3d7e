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

extension ManifestFacts {
    /// Returns the facts in a key description, using the names from the AOSP schema.
    static func keyDescription(_ description: KeyDescription) -> ManifestValue {
        .object([
            "attestationVersion": .number(description.attestationVersion),
            "attestationSecurityLevel": .string(description.attestationSecurityLevel.name),
            "keyMintVersion": .number(description.keyMintVersion),
            "keyMintSecurityLevel": .string(description.keyMintSecurityLevel.name),
            "attestationChallenge": .string(description.challenge.hex),
            "uniqueId": .string(description.uniqueID.hex),
            "softwareEnforced": Self.list(description.softwareEnforced),
            "hardwareEnforced": Self.list(description.hardwareEnforced),
        ])
    }

    private static func list(_ list: AuthorizationList) -> ManifestValue {
        var members: [String: ManifestValue] = [:]
        for entry in list.entries { members[Self.name(of: entry.tag)] = Self.value(entry.value) }
        return .object(members)
    }

    private static func name(of tag: UInt) -> String {
        guard let known = AuthorizationTag(rawValue: tag) else { return "unknown_\(tag)" }
        let name = String(describing: known)
        if name.hasPrefix("attestationID") { return "attestationId" + name.dropFirst("attestationID".count) }
        switch known {
        case .userSecureID: return "userSecureId"
        case .applicationID: return "applicationId"
        case .attestationApplicationID: return "attestationApplicationId"
        default: return name
        }
    }

    private static func value(_ value: AuthorizationList.Value) -> ManifestValue {
        switch value {
        case .integer(let number): .integer(number)
        case .integers(let numbers): .array(numbers.map { .integer($0) })
        case .present: .boolean(true)
        case .bytes(let bytes), .unknown(let bytes): .string(bytes.hex)
        case .text(let bytes): .string(String(decoding: bytes, as: UTF8.self))
        case .rootOfTrust(let root): Self.rootOfTrust(root)
        case .application(let application): Self.application(application)
        }
    }

    private static func rootOfTrust(_ root: RootOfTrust) -> ManifestValue {
        var members: [String: ManifestValue] = [
            "verifiedBootKey": .string(root.verifiedBootKey.hex),
            "deviceLocked": .boolean(root.isDeviceLocked),
            "verifiedBootState": .string(root.verifiedBootState.name),
        ]
        if let hash = root.verifiedBootHash { members["verifiedBootHash"] = .string(hash.hex) }
        return .object(members)
    }

    private static func application(_ application: ApplicationID) -> ManifestValue {
        .object([
            "packageInfos": .array(
                application.packages.map { .object(["name": .string($0.name), "version": .number($0.version)]) }
            ),
            "signatureDigests": .array(application.signatureDigests.map { .string($0.hex) }),
        ])
    }
}

extension ManifestFacts {
    static func receipt(_ receipt: AppAttestReceipt) -> ManifestValue {
        var verification = Verification()
        let signer = receipt.certificates.first { certificate in
            verification.isValid(receipt.signature, of: receipt.content, key: certificate.publicKey)
        }
        return .object([
            "app_id": .text(receipt.appID),
            "client_data_hash": .text(receipt.clientDataHash?.hex),
            "type": .text(receipt.type),
            "created": .text(receipt.created),
            "expires": .text(receipt.expires),
            "environment": .text(receipt.environment),
            "not_before": .text(receipt.notBefore),
            "risk_metric": .text(receipt.riskMetric),
            "certificate_sha256": .text(receipt.certificate.map { sha256($0).description }),
            "has_signed_attrs": .boolean(receipt.hasSignedAttributes),
            "signer": .text(signer?.subject.commonName),
            "signature_valid": .boolean(signer != nil),
        ])
    }
}

extension ManifestFacts {
    /// Returns the oddities of accepted evidence, worded as in the manifests.
    static func notes(_ certificates: [Certificate], _ description: KeyDescription) -> [String] {
        let forms = certificates.enumerated().flatMap { index, certificate in
            Self.oddities(of: certificate).map { "cert \(index): \($0)" }
        }
        let unmarked = certificates.enumerated().dropFirst().filter { !$0.element.isAuthority }.map { index, _ in
            "cert \(index) signs but is not marked CA"
        }
        return forms + Self.oddities(of: description.softwareEnforced, named: "softwareEnforced")
            + Self.oddities(of: description.hardwareEnforced, named: "hardwareEnforced") + unmarked
    }

    private static func oddities(of certificate: Certificate) -> [String] {
        var notes: [String] = []
        if !certificate.isAlgorithmConsistent { notes.append("inner and outer signature algorithm differ") }
        if certificate.hasSignatureParameters, certificate.signatureAlgorithm.description.hasPrefix("1.2.840.10045.4") {
            notes.append("ECDSA AlgorithmIdentifier carries parameters")
        }
        return notes
    }

    private static func oddities(of list: AuthorizationList, named name: String) -> [String] {
        var notes: [String] = []
        var previous: UInt = 0
        for entry in list.entries {
            if entry.tag < previous { notes.append("\(name): tag \(entry.tag) after \(previous), not ascending") }
            previous = entry.tag
            if case .unknown = entry.value { notes.append("\(name): unknown tag \(entry.tag)") }
            if case .rootOfTrust(let root) = entry.value, root.hasLooseBoolean {
                notes.append("\(name): rootOfTrust.deviceLocked is BOOLEAN 0x01, BER but not DER")
            }
        }
        return notes
    }
}

/// A JSON value, used to compare the facts in a manifest with those read by the verifier.
enum ManifestValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int128)
    case string(String)
    case array([ManifestValue])
    case object([String: ManifestValue])

    /// Returns the places where `found` differs from `expected`.
    ///
    /// Members missing from `expected` are ignored.
    static func differences(expected: ManifestValue, found: ManifestValue?, path: String = "") -> [String] {
        if case .object(let members) = expected {
            guard case .object(let others) = found else { return ["\(path): expected an object"] }
            return members.sorted { $0.key < $1.key }.flatMap { key, value in
                Self.differences(expected: value, found: others[key], path: path + "/" + key)
            }
        }
        return expected == found ?? .null ? [] : ["\(path): expected \(expected), found \(found ?? .null)"]
    }
}

extension ManifestValue: CustomStringConvertible {
    var description: String {
        switch self {
        case .null: "null"
        case .boolean(let value): String(value)
        case .integer(let value): String(value)
        case .string(let value): "\"\(value)\""
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { "\($0): \($1)" }.joined(separator: ", ") + "}"
        }
    }
}

extension ManifestValue: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(Int128(value))
        } else if let value = try? container.decode(UInt64.self) {
            self = .integer(Int128(value))
        } else if let value = try? container.decode([ManifestValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: ManifestValue].self))
        }
    }
}

extension ManifestValue {
    /// Returns a string, or null if `value` is nil.
    static func text(_ value: String?) -> ManifestValue { value.map { .string($0) } ?? .null }

    /// Returns a whole number, or null if `value` is nil.
    static func number(_ value: (some BinaryInteger)?) -> ManifestValue { value.map { .integer(Int128($0)) } ?? .null }
}
