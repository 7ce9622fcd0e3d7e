internal import AttestationVerifier
internal import Evidence
internal import RemotePINServer
internal import ServerSettings
internal import HostSystem

/// Creates the attestation verifier from the server's settings.
enum AttestationSettings {
    /// Creates the verifier.
    ///
    /// Reads the root certificates, and rejects a lab's roots outside a lab.
    ///
    /// - Parameter statusList: The result of ``statusList(_:)``.
    static func verifier(
        _ settings: ServerSettings,
        isLab: Bool,
        statusList: StatusListFile?
    ) throws -> EvidenceVerifier {
        let google = try Self.anchors(settings[SettingTable.androidRoots], setting: "android.roots", isLab: isLab)
        let apple = try Self.anchors(settings[SettingTable.iosRoots], setting: "ios.roots", isLab: isLab)
        return EvidenceVerifier(
            policy: AttestationPolicy(android: Self.android(settings), apple: Self.apple(settings)),
            androidAnchors: google ?? TrustAnchor.google,
            appleAnchors: apple ?? TrustAnchor.apple,
            statusList: statusList?.current
        )
    }

    private static func android(_ settings: ServerSettings) -> AndroidPolicy {
        var policy = AndroidPolicy(apps: Self.apps(settings[SettingTable.androidApps]))
        switch settings[SettingTable.androidSecurityLevel] {
        case .tee: break
        case .strongBox:
            policy.minimumAttestationLevel = .strongBox
            policy.minimumKeyMintLevel = .strongBox
        }
        policy.bootStates = Set(settings[SettingTable.androidBootStates].map(Self.state))
        policy.bootKeys = Set(settings[SettingTable.androidBootKeys])
        policy.provisioning = Set(settings[SettingTable.androidProvisioning].map(Self.provisioning))
        policy.allowsAttestKeys = settings[SettingTable.androidAttestKeys]
        policy.minimumOSPatchLevel = settings[SettingTable.androidPatchLevel]
        policy.minimumVendorPatchLevel = settings[SettingTable.androidVendorPatchLevel]
        policy.minimumBootPatchLevel = settings[SettingTable.androidBootPatchLevel]
        if settings[SettingTable.androidStatusList] != nil {
            policy.statusList = StatusListPolicy(
                maximumAge: settings[SettingTable.androidStatusListMaximumAge],
                acceptsStale: settings[SettingTable.androidStaleStatusList] == .warn
            )
        }
        return policy
    }

    private static func apple(_ settings: ServerSettings) -> ApplePolicy {
        var policy = ApplePolicy(
            apps: Self.apps(settings[SettingTable.iosApps]),
            environments: Set(
                settings[SettingTable.iosEnvironments].map { environment in
                    switch environment {
                    case .production: .production
                    case .development: .development
                    }
                }
            )
        )
        let categories = settings[SettingTable.iosValidationCategories]
        policy.categories = categories.isEmpty ? nil : Set(categories.map(Self.category))
        policy.acceptsMissingExtensions = settings[SettingTable.iosMissingExtensions] == .accept
        return policy
    }

    /// Merges the entries for each app into one with the highest minimum version.
    private static func apps(_ settings: [AppleAppSetting]) -> [AppleApp] {
        Dictionary(grouping: settings, by: \.id).sorted { $0.key < $1.key }.map { id, entries in
            AppleApp(id: id, minimumVersion: entries.compactMap(\.minimumVersion).max())
        }
    }

    /// Merges the entries for each package into one app with all its certificates and the highest minimum version.
    private static func apps(_ settings: [AndroidAppSetting]) -> [AndroidApp] {
        Dictionary(grouping: settings, by: \.package).sorted { $0.key < $1.key }.map { package, entries in
            AndroidApp(
                package: package,
                signatureDigests: Set(entries.map(\.signingDigest)),
                minimumVersion: Int64(clamping: entries.map(\.minimumVersion).max() ?? 0)
            )
        }
    }

    private static func state(_ setting: BootStateSetting) -> VerifiedBootState {
        switch setting {
        case .verified: .verified
        case .selfSigned: .selfSigned
        }
    }

    private static func category(_ setting: ValidationCategorySetting) -> ValidationCategory {
        switch setting {
        case .appStore: .appStore
        case .testFlight: .testFlight
        case .enterprise: .enterprise
        case .development: .development
        }
    }

    private static func provisioning(_ setting: ProvisioningSetting) -> Provisioning {
        switch setting {
        case .factory: .factory
        case .remote: .remote
        }
    }

    /// Reads certificates from PEM files.
    ///
    /// Returns nil if no file is set, in which case the vendor's roots apply.
    private static func anchors(_ paths: [String], setting: String, isLab: Bool) throws -> [TrustAnchor]? {
        guard !paths.isEmpty else { return nil }
        var anchors: [TrustAnchor] = []
        for path in paths {
            let text = String(decoding: try Self.contents(path, setting: setting, atMost: 1 << 20), as: UTF8.self)
            let certificates = PEM.certificates(in: text) ?? []
            let found = certificates.compactMap { TrustAnchor(certificate: $0) }
            guard !found.isEmpty, found.count == certificates.count else {
                throw StartFailure(
                    .configuration,
                    "`\(setting)`: \(path) has no certificates, or one that cannot be parsed; it must be PEM"
                )
            }
            guard isLab || !found.contains(where: \.isOfLab) else {
                throw StartFailure(
                    .configuration,
                    "`\(setting)`: \(path) is a lab's root, whose private key is in a file; production rejects it"
                )
            }
            anchors += found
        }
        return anchors
    }

    /// Opens and checks the status list file; returns nil if none is configured.
    static func statusList(_ settings: ServerSettings) throws -> StatusListFile? {
        guard let path = settings[SettingTable.androidStatusList] else { return nil }
        return try explaining(.configuration, "`android.status-list`") { try StatusListFile(path: path) }
    }

    private static func contents(_ path: String, setting: String, atMost limit: Int) throws -> [UInt8] {
        try explaining(.configuration, "`\(setting)`") { try DurableFile.read(path, atMost: limit) }
    }
}
