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

/// An Android app that is allowed to register: a package signed with a certain certificate.
package struct AndroidAppSetting: Hashable, Sendable, CustomStringConvertible {
    /// The package name, for example `org.example.wallet`.
    package var package: String
    /// The SHA-256 digest of the signing certificate, 32 bytes.
    package var signingDigest: [UInt8]
    /// The lowest version code that is allowed to register.
    package var minimumVersion: UInt64

    package init(package: String, signingDigest: [UInt8], minimumVersion: UInt64 = 0) {
        self.package = package
        self.signingDigest = signingDigest
        self.minimumVersion = minimumVersion
    }

    /// Parses `PACKAGE:DIGEST` or `PACKAGE:DIGEST:VERSION`, where the digest is in hexadecimal.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 || parts.count == 3, Self.isDottedName(parts[0]),
            let digest = [UInt8](hex: parts[1]), digest.count == 32
        else { return nil }
        guard let version = parts.count == 3 ? UInt64(parts[2]) : 0 else { return nil }
        self.init(package: parts[0], signingDigest: digest, minimumVersion: version)
    }

    package var description: String {
        let app = "\(self.package):\(self.signingDigest.hex)"
        return self.minimumVersion == 0 ? app : "\(app):\(self.minimumVersion)"
    }

    static func isDottedName(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && text.contains(".") && !text.contains("..")
            && text.utf8.allSatisfy { byte in
                let character = Character(UnicodeScalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || "._-".contains(character))
            }
    }
}

/// An iOS app that is allowed to register.
package struct AppleAppSetting: Hashable, Sendable, CustomStringConvertible {
    /// The team and bundle identifier, for example `ABCDE12345.org.example.wallet`.
    package let id: String
    /// The lowest bundle version that is allowed to register.
    package let minimumVersion: BundleVersion?

    /// Parses `TEAM.BUNDLE` or `TEAM.BUNDLE:VERSION`.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts[0].prefix(while: { $0 != "." }).count == 10, AndroidAppSetting.isDottedName(parts[0]) else {
            return nil
        }
        self.id = parts[0]
        self.minimumVersion = parts.count == 2 ? BundleVersion(parts[1]) : nil
        guard parts.count == 1 || self.minimumVersion != nil else { return nil }
    }

    package var description: String { self.id + (self.minimumVersion.map { ":\($0)" } ?? "") }
}

/// The required storage for an Android key: a trusted execution environment or a separate security chip.
package enum SecurityLevelSetting: String, Hashable, Sendable, CaseIterable {
    case tee
    case strongBox = "strongbox"
}

/// An acceptable verified boot state of an Android device.
package enum BootStateSetting: String, Hashable, Sendable, CaseIterable {
    case verified
    case selfSigned = "self-signed"
}

/// The way an Android device received its attestation key.
package enum ProvisioningSetting: String, Hashable, Sendable, CaseIterable {
    case factory
    case remote
}

/// An App Attest environment.
package enum AppleEnvironmentSetting: String, Hashable, Sendable, CaseIterable {
    case production
    case development
}

/// A way in which an iOS app may have been signed and distributed.
package enum ValidationCategorySetting: String, Hashable, Sendable, CaseIterable {
    case appStore = "app-store"
    case testFlight = "testflight"
    case enterprise
    case development
}

/// The handling of iOS evidence without the required extensions.
package enum MissingExtensionsSetting: String, Hashable, Sendable, CaseIterable {
    case refuse
    case accept
}

/// The handling of registrations while the status list is stale.
package enum StaleStatusListSetting: String, Hashable, Sendable, CaseIterable {
    case refuse
    case warn
}

/// The minimum level of the log.
package enum LogLevelSetting: String, Hashable, Sendable, CaseIterable {
    case debug
    case info
    case notice
    case warning
    case error
}

/// The format of log lines.
package enum LogFormatSetting: String, Hashable, Sendable, CaseIterable {
    case text
    case json
}

/// The log service that audit entries are exported to.
package enum AuditExportSetting: String, Hashable, Sendable, CaseIterable {
    case none
    case journal
    case syslog
}
