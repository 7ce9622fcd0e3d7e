package import ConfigText
package import Vocabulary

extension SettingTable {
    static let android: [any SettingDeclaration] = [
        Self.androidApps, Self.androidSecurityLevel, Self.androidBootStates, Self.androidBootKeys,
        Self.androidPatchLevel, Self.androidVendorPatchLevel, Self.androidBootPatchLevel, Self.androidProvisioning,
        Self.androidAttestKeys, Self.androidRoots, Self.androidStatusList, Self.androidStatusListMaximumAge,
        Self.androidStaleStatusList,
    ]
    static let iOS: [any SettingDeclaration] = [
        Self.iosApps, Self.iosEnvironments, Self.iosValidationCategories, Self.iosMissingExtensions, Self.iosRoots,
    ]

    package static let androidApps = Setting(
        "android.apps",
        .list(
            of: .word(
                "app",
                "PACKAGE:DIGEST or PACKAGE:DIGEST:VERSION",
                read: { AndroidAppSetting($0) },
                write: { "\($0)" }
            )
        ),
        standard: [],
        "Apps that may register: package name, SHA-256 of the signing certificate in hexadecimal, and lowest version "
            + "code. Repeat a package for another certificate. If the list is empty, no Android device can register."
    )
    package static let androidSecurityLevel = Setting(
        "android.security-level",
        .choice,
        standard: SecurityLevelSetting.tee,
        "Where the hardware key must be stored: in a trusted execution environment or better, or in a separate "
            + "security chip."
    )
    package static let androidBootStates = Setting(
        "android.boot-states",
        .list(of: .choice),
        standard: [BootStateSetting.verified],
        "Accepted states of verified boot. The bootloader must be locked in any case. Anyone can sign a system with "
            + "their own key, so self-signed needs `android.boot-keys`."
    )
    package static let androidBootKeys = Setting(
        "android.boot-keys",
        .list(
            of: .word(
                "key",
                "SHA-256 of a boot key, 64 hexadecimal digits",
                // A phone with an unlocked bootloader states zeros instead of a key.
                read: { text in SHA256Digest(hex: text).flatMap { $0.bytes.allSatisfy { $0 == 0 } ? nil : $0 } },
                write: { "\($0)" }
            ),
            atMost: 256
        ),
        standard: [],
        "Keys that may have signed a self-signed system, as `check-attestation` prints them (docs/attestation.md, Boot "
            + "keys)."
    )
    package static let androidPatchLevel = Setting(
        optional: "android.patch-level",
        .patchLevel,
        "Oldest accepted security patch of the system, of which phones state the month. If set, evidence without a "
            + "patch level is rejected. A month, here and in evidence, counts as its first day."
    )
    package static let androidVendorPatchLevel = Setting(
        optional: "android.vendor-patch-level",
        .patchLevel,
        "Oldest accepted security patch of the vendor image. Many real devices do not report one, or only the month."
    )
    package static let androidBootPatchLevel = Setting(
        optional: "android.boot-patch-level",
        .patchLevel,
        "Oldest accepted security patch of the boot image. Many real devices do not report one, or only the month."
    )
    package static let androidProvisioning = Setting(
        "android.provisioning",
        .list(of: .choice),
        standard: ProvisioningSetting.allCases,
        "Accepted ways in which a device received its attestation key: in the factory, or from the vendor's server."
    )
    package static let androidAttestKeys = Setting(
        "android.attest-keys",
        .flag,
        standard: false,
        "Accepts keys that are attested by an attestation key of the app (ATTEST_KEY)."
    )
    package static let androidRoots = Setting(
        "android.roots",
        .list(of: .path),
        standard: [],
        "PEM files whose certificates replace Google's roots. If the list is empty, Google's roots apply."
    )
    package static let androidStatusList = Setting(
        optional: "android.status-list",
        .path,
        "Google's list of revoked attestation certificates, a JSON file that the operator keeps up to date. With none, "
            + "revoked devices can register. Outside a lab, a server that accepts Android apps must set it, if only to "
            + "none."
    )
    package static let androidStatusListMaximumAge = Setting(
        "android.status-list-maximum-age",
        .duration(.seconds(3600) ... .seconds(365 * 86_400)),
        standard: .seconds(7 * 86_400),
        "Age from which the list is stale."
    )
    package static let androidStaleStatusList = Setting(
        "android.stale-status-list",
        .choice,
        standard: StaleStatusListSetting.refuse,
        "Registrations while the list is stale: rejected, or allowed with a warning in the log."
    )
    package static let iosApps = Setting(
        "ios.apps",
        .list(
            of: .word(
                "app",
                "TEAM.BUNDLE or TEAM.BUNDLE:VERSION, such as ABCDE12345.org.example.wallet:1314",
                read: { AppleAppSetting($0) },
                write: { "\($0)" }
            )
        ),
        standard: [],
        "Apps that may register: team and bundle identifier, and lowest bundle version (CFBundleVersion), which iOS "
            + "states from version 27. If the list is empty, no iOS device can register."
    )
    package static let iosEnvironments = Setting(
        "ios.environments",
        .list(of: .choice),
        standard: [AppleEnvironmentSetting.production],
        "Accepted App Attest environments."
    )
    package static let iosValidationCategories = Setting(
        "ios.validation-categories",
        .list(of: .choice),
        standard: [ValidationCategorySetting](),
        "Accepted ways in which the app was signed and distributed, which iOS states from version 27; enterprise "
            + "includes ad hoc. If the list is empty, they are not checked."
    )
    package static let iosMissingExtensions = Setting(
        "ios.missing-extensions",
        .choice,
        standard: MissingExtensionsSetting.refuse,
        "Evidence without a category or bundle version that these settings require, as before iOS 27: rejected, or "
            + "accepted without this check."
    )
    package static let iosRoots = Setting(
        "ios.roots",
        .list(of: .path),
        standard: [],
        "PEM files whose certificates replace Apple's App Attest root. If the list is empty, Apple's root applies."
    )
}

extension Kind where Value == PatchLevel {
    static var patchLevel: Kind {
        .word("month", "YYYY-MM or YYYY-MM-DD", read: { PatchLevel($0) }, write: { "\($0)" })
    }
}
