extension SettingTable {
    static let android: [any SettingDeclaration] = [
        Self.androidApps, Self.androidSecurityLevel, Self.androidBootStates, Self.androidPatchLevel,
        Self.androidVendorPatchLevel, Self.androidBootPatchLevel, Self.androidProvisioning, Self.androidAttestKeys,
        Self.androidRoots, Self.androidStatusList, Self.androidStatusListMaximumAge, Self.androidStaleStatusList,
    ]
    static let iOS: [any SettingDeclaration] = [Self.iosApps, Self.iosEnvironments, Self.iosRoots]

    package static let androidApps = Setting(
        "android.apps",
        .list(
            of: .one(
                "app",
                "PACKAGE:DIGEST or PACKAGE:DIGEST:VERSION",
                read: { AndroidAppSetting($0) },
                show: { "\($0)" }
            )
        ),
        standard: [],
        """
        Apps that may register: package name, SHA-256 of the signing certificate in hexadecimal, and the lowest version \
        code. Name a package again for another certificate. With none, no Android device can register.
        """
    )
    package static let androidSecurityLevel = Setting(
        "android.security-level",
        .choice,
        standard: SecurityLevelSetting.tee,
        "Where the hardware key must be kept: in the trusted environment or better, or in a separate security chip."
    )
    package static let androidBootStates = Setting(
        "android.boot-states",
        .list(of: .choice),
        standard: [BootStateSetting.verified],
        "States of verified boot that are accepted; the device must be locked in any case."
    )
    package static let androidPatchLevel = Setting(
        "android.patch-level",
        .patchLevel,
        standard: .some(nil),
        "The oldest security patch of the system that is accepted; evidence that states none is then refused."
    )
    package static let androidVendorPatchLevel = Setting(
        "android.vendor-patch-level",
        .patchLevel,
        standard: .some(nil),
        "The same for the vendor image; many real devices state none."
    )
    package static let androidBootPatchLevel = Setting(
        "android.boot-patch-level",
        .patchLevel,
        standard: .some(nil),
        "The same for the boot image; many real devices state none."
    )
    package static let androidProvisioning = Setting(
        "android.provisioning",
        .list(of: .choice),
        standard: ProvisioningSetting.allCases,
        "How the device may have come to its attestation key: in the factory, or from the vendor's server."
    )
    package static let androidAttestKeys = Setting(
        "android.attest-keys",
        .flag,
        standard: false,
        "Whether a key may be attested by an attestation key of the app's own (ATTEST_KEY)."
    )
    package static let androidRoots = Setting(
        "android.roots",
        .list(of: .path),
        standard: [],
        "PEM files whose certificates replace Google's roots. With none, Google's count."
    )
    package static let androidStatusList = Setting(
        "android.status-list",
        .optional(.path),
        standard: .some(nil),
        "Google's list of revoked attestation certificates, a JSON file that the operator refreshes."
    )
    package static let androidStatusListMaximumAge = Setting(
        "android.status-list-maximum-age",
        .duration(.seconds(3600) ... .seconds(365 * 86_400)),
        standard: .seconds(7 * 86_400),
        "A list older than this is stale."
    )
    package static let androidStaleStatusList = Setting(
        "android.stale-status-list",
        .choice,
        standard: StaleStatusListSetting.refuse,
        "What is done while the list is stale: registrations are refused, or allowed with a warning in the log."
    )
    package static let iosApps = Setting(
        "ios.apps",
        .list(
            of: .one(
                "app",
                "TEAM.BUNDLE, as ABCDE12345.org.example.wallet",
                read: { text in
                    text.prefix { $0 != "." }.count == 10 && AndroidAppSetting.isDottedName(text) ? text : nil
                },
                show: { $0 }
            )
        ),
        standard: [],
        "Apps that may register, as team and bundle id. With none, no iOS device can register."
    )
    package static let iosEnvironments = Setting(
        "ios.environments",
        .list(of: .choice),
        standard: [AppleEnvironmentSetting.production],
        "App Attest environments that are accepted."
    )
    package static let iosRoots = Setting(
        "ios.roots",
        .list(of: .path),
        standard: [],
        "PEM files whose certificates replace Apple's App Attest root. With none, Apple's counts."
    )
}

extension SettingKind where Value == PatchLevelSetting? {
    static var patchLevel: SettingKind {
        .optional(.one("month", "YYYY-MM or YYYY-MM-DD", read: { PatchLevelSetting($0) }, show: { "\($0)" }))
    }
}
