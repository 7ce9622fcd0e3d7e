/// A key's properties by tag, in the order they were encoded.
///
/// Tags are unique.
package struct AuthorizationList: Hashable, Sendable {
    /// A single property.
    package struct Entry: Hashable, Sendable {
        package var tag: UInt
        package var value: Value

        package init(_ tag: UInt, _ value: Value) {
            self.tag = tag
            self.value = value
        }
    }

    /// The value of a property.
    package enum Value: Hashable, Sendable {
        case integer(Int128)
        /// A SET, in the order it was encoded.
        case integers([Int128])
        /// A property that does not have a value apart from being present.
        case present
        case bytes([UInt8])
        /// Text from the device.
        ///
        /// It is stored as bytes, because it might not be valid UTF-8.
        case text([UInt8])
        case rootOfTrust(RootOfTrust)
        case application(ApplicationID)
        /// A property from a later schema, as it was encoded.
        case unknown([UInt8])
    }

    package var entries: [Entry]

    package init(_ entries: [Entry] = []) { self.entries = entries }

    /// The value for `tag`.
    ///
    /// Setting it to nil removes the entry.
    package subscript(tag: UInt) -> Value? {
        get { self.entries.first { $0.tag == tag }?.value }
        set {
            let index = self.entries.firstIndex { $0.tag == tag }
            switch (index, newValue) {
            case (let index?, let value?): self.entries[index].value = value
            case (let index?, nil): self.entries.remove(at: index)
            case (nil, let value?): self.entries.append(Entry(tag, value))
            case (nil, nil): break
            }
        }
    }

    package subscript(tag: AuthorizationTag) -> Value? {
        get { self[tag.rawValue] }
        set { self[tag.rawValue] = newValue }
    }

    /// Returns the number for `tag`, or nil if it is missing or not a number.
    package func integer(_ tag: AuthorizationTag) -> Int? {
        guard case .integer(let value) = self[tag] else { return nil }
        return Int(exactly: value)
    }

    /// Returns the numbers for `tag`, or an empty array if they are missing.
    package func integers(_ tag: AuthorizationTag) -> [Int] {
        guard case .integers(let values) = self[tag] else { return [] }
        return values.compactMap { Int(exactly: $0) }
    }

    package func text(_ tag: AuthorizationTag) -> String? {
        guard case .text(let bytes) = self[tag] else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    package var rootOfTrust: RootOfTrust? {
        guard case .rootOfTrust(let value) = self[.rootOfTrust] else { return nil }
        return value
    }

    package var application: ApplicationID? {
        guard case .application(let value) = self[.attestationApplicationID] else { return nil }
        return value
    }
}

/// The tags whose meaning is known (the low 28 bits in AOSP's `Tag.aidl`).
package enum AuthorizationTag: UInt, CaseIterable, Sendable {
    case purpose = 1
    case algorithm = 2
    case keySize = 3
    case blockMode = 4
    case digest = 5
    case padding = 6
    case callerNonce = 7
    case minMacLength = 8
    case ecCurve = 10
    case mlDsaVariant = 11
    case rsaPublicExponent = 200
    case rsaOaepMgfDigest = 203
    case rollbackResistance = 303
    case earlyBootOnly = 305
    case activeDateTime = 400
    case originationExpireDateTime = 401
    case usageExpireDateTime = 402
    case usageCountLimit = 405
    case userSecureID = 502
    case noAuthRequired = 503
    case userAuthType = 504
    case authTimeout = 505
    case allowWhileOnBody = 506
    case trustedUserPresenceRequired = 507
    case trustedConfirmationRequired = 508
    case unlockedDeviceRequired = 509
    case allApplications = 600
    case applicationID = 601
    case creationDateTime = 701
    case origin = 702
    case rollbackResistant = 703
    case rootOfTrust = 704
    case osVersion = 705
    case osPatchLevel = 706
    case attestationApplicationID = 709
    case attestationIDBrand = 710
    case attestationIDDevice = 711
    case attestationIDProduct = 712
    case attestationIDSerial = 713
    case attestationIDImei = 714
    case attestationIDMeid = 715
    case attestationIDManufacturer = 716
    case attestationIDModel = 717
    case vendorPatchLevel = 718
    case bootPatchLevel = 719
    case deviceUniqueAttestation = 720
    case attestationIDSecondImei = 723
    case moduleHash = 724
}

extension AuthorizationTag {
    /// The ASN.1 form of a tag value.
    enum Form {
        case integer, integers, present, bytes, text, rootOfTrust, application
    }

    var form: Form {
        switch self {
        case .purpose, .blockMode, .digest, .padding, .rsaOaepMgfDigest: .integers
        case .callerNonce, .rollbackResistance, .earlyBootOnly, .noAuthRequired, .allowWhileOnBody,
            .trustedUserPresenceRequired, .trustedConfirmationRequired, .unlockedDeviceRequired, .allApplications,
            .rollbackResistant, .deviceUniqueAttestation:
            .present
        case .applicationID, .moduleHash: .bytes
        case .attestationIDBrand, .attestationIDDevice, .attestationIDProduct, .attestationIDSerial,
            .attestationIDImei, .attestationIDMeid, .attestationIDManufacturer, .attestationIDModel,
            .attestationIDSecondImei:
            .text
        case .rootOfTrust: .rootOfTrust
        case .attestationApplicationID: .application
        case .algorithm, .keySize, .minMacLength, .ecCurve, .mlDsaVariant, .rsaPublicExponent, .activeDateTime,
            .originationExpireDateTime, .usageExpireDateTime, .usageCountLimit, .userSecureID, .userAuthType,
            .authTimeout, .creationDateTime, .origin, .osVersion, .osPatchLevel, .vendorPatchLevel, .bootPatchLevel:
            .integer
        }
    }
}
