package import Vocabulary

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
