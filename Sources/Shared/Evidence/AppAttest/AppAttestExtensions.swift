internal import Vocabulary

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
