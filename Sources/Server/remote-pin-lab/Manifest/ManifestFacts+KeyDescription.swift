internal import AttestationVerifier
internal import Evidence
internal import Vocabulary

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
