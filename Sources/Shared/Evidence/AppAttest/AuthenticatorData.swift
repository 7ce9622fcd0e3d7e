package import Vocabulary

/// The data signed by an App Attest key in addition to the client's data (WebAuthn §6.1, as used by Apple).
package struct AuthenticatorData: Hashable, Sendable {
    /// The SHA-256 digest of the app id, `TEAMID.bundle.id`.
    package var rpIDHash: SHA256Digest
    /// The raw flags.
    ///
    /// Apple also sets 0x40 in assertions, even though they do not contain a credential.
    package var flags: UInt8
    /// The number of signatures made with the key, or 0 in an attestation.
    package var counter: UInt32
    /// The attested key; only present in attestations.
    package var credential: Credential?
    /// The extension data at the end, added by newer systems.
    package var extensions: AppAttestExtensions?

    /// The attested key.
    package struct Credential: Hashable, Sendable {
        /// The 16 bytes that identify the environment.
        package var aaguid: [UInt8]
        /// The key id: the SHA-256 digest of its public key.
        package var id: [UInt8]
        /// The public key as a COSE map (RFC 9052 §7).
        package var key: CBOR

        package init(aaguid: [UInt8], id: [UInt8], key: CBOR) {
            self.aaguid = aaguid
            self.id = id
            self.key = key
        }
    }

    /// The flag that indicates a credential.
    package static let hasCredential: UInt8 = 0x40

    package init(
        rpIDHash: SHA256Digest,
        flags: UInt8,
        counter: UInt32,
        credential: Credential?,
        extensions: AppAttestExtensions?
    ) {
        self.rpIDHash = rpIDHash
        self.flags = flags
        self.counter = counter
        self.credential = credential
        self.extensions = extensions
    }

    /// Decodes an attestation's data (if `withCredential` is true) or an assertion's.
    ///
    /// The fixed part and the credential may be followed by extension data, but nothing else.
    package init(decoding bytes: [UInt8], withCredential: Bool) throws(AuthenticatorDataError) {
        var rest = bytes[...]
        guard let rpIDHash = SHA256Digest(rest.prefix(32)), rest.count >= 37 else { throw .truncated }
        self.rpIDHash = rpIDHash
        rest = rest.dropFirst(32)
        self.flags = rest.removeFirst()
        self.counter = rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        rest = rest.dropFirst(4)
        self.credential = withCredential ? try Self.credential(from: &rest, flags: self.flags) : nil
        self.extensions = rest.isEmpty ? nil : try AppAttestExtensions(decoding: rest)
    }

    package var encoded: [UInt8] {
        var bytes = self.rpIDHash.bytes + [self.flags] + self.counter.bigEndianBytes
        if let credential = self.credential {
            bytes += credential.aaguid + UInt16(credential.id.count).bigEndianBytes + credential.id
            bytes += credential.key.encoded
        }
        return bytes + (self.extensions?.encoded ?? [])
    }

    private static func credential(
        from rest: inout ArraySlice<UInt8>,
        flags: UInt8
    ) throws(AuthenticatorDataError) -> Credential {
        guard flags & Self.hasCredential != 0 else { throw .noCredential }
        guard rest.count >= 18 else { throw .truncated }
        let aaguid = Array(rest.prefix(16))
        let length = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard rest.count >= length else { throw .truncated }
        let id = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        guard let key = try? CBOR(decodingPrefixOf: &rest), key.isMap else { throw .credentialKey }
        return Credential(aaguid: aaguid, id: id, key: key)
    }
}

/// An error from decoding authenticator data.
///
/// The evidence should be rejected.
package enum AuthenticatorDataError: Error, Hashable {
    /// The data ends before a required part.
    case truncated
    /// The flags do not indicate a credential, although one is required.
    case noCredential
    /// The credential's key is not a CBOR map.
    case credentialKey
    /// The data is followed by something other than well-formed CBOR maps within the limits.
    case extensions
}

extension AuthenticatorData.Credential {
    /// Returns a P-256 key in COSE form: kty 2 (EC2), alg −7 (ES256), crv 1 (P-256), x and y.
    package static func coseKey(_ key: P256PublicKey) -> CBOR {
        .map([
            CBOR.Entry(.integer(1), .integer(2)),
            CBOR.Entry(.integer(3), .integer(-7)),
            CBOR.Entry(.integer(-1), .integer(1)),
            CBOR.Entry(.integer(-2), .bytes(Array(key.bytes[1..<33]))),
            CBOR.Entry(.integer(-3), .bytes(Array(key.bytes[33...]))),
        ])
    }

    /// The P-256 key, or nil if it does not have the form written by ``coseKey(_:)``.
    package var publicKey: P256PublicKey? {
        guard self.key[.integer(1)] == .integer(2), self.key[.integer(3)] == .integer(-7),
            self.key[.integer(-1)] == .integer(1), let x = self.key[.integer(-2)]?.byteString,
            let y = self.key[.integer(-3)]?.byteString, x.count == 32
        else { return nil }
        return P256PublicKey([0x04] + x + y)
    }
}

/// The extension data at the end of authenticator data, which iOS has added since version 27.
///
/// The signature or the nonce covers it like all other bytes. Only the two extensions below are read; Apple adds others
/// and may encode them in any form. Extension data that a later system writes must not stop every iPhone, so everything
/// that is well-formed CBOR within the limits is accepted. A known extension must have its known form: it is
/// ``Claim/unreadable`` otherwise, which is not the same as missing.
package struct AppAttestExtensions: Hashable, Sendable {
    /// The maximum length in bytes.
    ///
    /// The longest real data has 116. Depth and number of items have the limits of ``CBOR``.
    package static let maximumByteCount = 4096

    /// The data as it was signed.
    package let encoded: [UInt8]
    /// The extensions of all maps, in the order they were encoded.
    package let entries: [CBOR.Entry]
    /// The differences from the data of systems known so far.
    package let novelties: Set<Novelty>
    /// The way in which the app was signed and distributed.
    package let validationCategory: Claim<ValidationCategory>
    /// The version of the app's bundle (CFBundleVersion), 1 to 100 bytes of text.
    package let bundleVersion: Claim<String>

    /// A claim that evidence may make.
    package enum Claim<Value: Hashable & Sendable>: Hashable, Sendable {
        case missing
        /// The claim was made in an unknown form, or more than once.
        case unreadable
        case value(Value)
    }

    /// A kind of difference from the extension data of known systems.
    ///
    /// It is harmless, but the operator should learn of it.
    package enum Novelty: String, Hashable, Sendable, CaseIterable {
        /// An extension with an unknown name.
        case name
        /// An encoding that the strict decoder rejects.
        case encoding
        /// More than one map.
        case maps
        /// A known extension in an unknown form.
        case value
    }

    /// Creates the data with these extensions.
    package init(_ entries: [CBOR.Entry]) {
        self.init(encoded: CBOR.map(entries).encoded, entries: entries, novelties: [])
    }

    /// Creates the data with the extensions of iOS 27.
    package init(validationCategory: ValidationCategory, bundleVersion: String) {
        self.init([
            CBOR.Entry(.text(Self.bundleVersionName), .text(bundleVersion)),
            CBOR.Entry(.text(Self.categoryName), .bytes(validationCategory.number.bigEndianBytes.reversed())),
        ])
    }

    /// Decodes one or more maps.
    package init(decoding bytes: ArraySlice<UInt8>) throws(AuthenticatorDataError) {
        guard bytes.count <= Self.maximumByteCount, let found = try? CBOR.items(leniently: bytes) else {
            throw .extensions
        }
        var entries: [CBOR.Entry] = []
        for item in found.items {
            guard case .map(let members) = item else { throw .extensions }
            entries += members
        }
        var novelties: Set<Novelty> = []
        if found.items.count > 1 { novelties.insert(.maps) }
        if !found.isStrict { novelties.insert(.encoding) }
        self.init(encoded: Array(bytes), entries: entries, novelties: novelties)
    }

    private init(encoded: [UInt8], entries: [CBOR.Entry], novelties: Set<Novelty>) {
        self.encoded = encoded
        self.entries = entries
        self.validationCategory = Self.claim(Self.categoryName, in: entries) { value in
            guard case .bytes(let bytes) = value, bytes.count == 4 else { return nil }
            return ValidationCategory(number: bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) })
        }
        self.bundleVersion = Self.claim(Self.bundleVersionName, in: entries) { value in
            guard case .text(let text) = value, (1...100).contains(text.utf8.count) else { return nil }
            return text
        }
        var novelties = novelties
        if entries.contains(where: { ![.text(Self.categoryName), .text(Self.bundleVersionName)].contains($0.key) }) {
            novelties.insert(.name)
        }
        if self.validationCategory == .unreadable || self.bundleVersion == .unreadable { novelties.insert(.value) }
        self.novelties = novelties
    }

    private static let categoryName = "apple_validation_category_01"
    private static let bundleVersionName = "apple_bundle_version_01"

    /// Returns the claim with this name, which must have been made at most once.
    private static func claim<Value: Hashable & Sendable>(
        _ name: String,
        in entries: [CBOR.Entry],
        _ read: (CBOR) -> Value?
    ) -> Claim<Value> {
        let found = entries.filter { $0.key == .text(name) }
        guard let first = found.first else { return .missing }
        guard found.count == 1, let value = read(first.value) else { return .unreadable }
        return .value(value)
    }
}

/// The way in which an app was signed and distributed, as iOS determined when it launched the app.
///
/// The values are Apple's (Validating apps that connect to your server, and `es_cs_validation_category_t`).
package enum ValidationCategory: Hashable, Sendable {
    /// A part of the operating system.
    case platform
    case testFlight
    /// The app was signed with a development certificate.
    case development
    case appStore
    /// The app was signed with a distribution certificate and runs because of a provisioning profile.
    ///
    /// It was distributed in-house or ad hoc.
    case enterprise
    case developerID
    /// A category that no iOS app of an operator has.
    case other(UInt32)

    /// The number used by Apple.
    package var number: UInt32 {
        switch self {
        case .platform: 1
        case .testFlight: 2
        case .development: 3
        case .appStore: 4
        case .enterprise: 5
        case .developerID: 6
        case .other(let number): number
        }
    }

    package init(number: UInt32) {
        switch number {
        case 1: self = .platform
        case 2: self = .testFlight
        case 3: self = .development
        case 4: self = .appStore
        case 5: self = .enterprise
        case 6: self = .developerID
        default: self = .other(number)
        }
    }
}
