/// The operating system of a wallet's device, which determines the form of its attestation and proofs.
public enum Platform: String, Hashable, Sendable, CaseIterable {
    /// Android, with Key Attestation chains and signatures by the hardware key.
    case android
    /// iOS, with App Attest objects and assertions.
    case iOS = "ios"
}

/// The update policy's verdict on a version of the app (PF1.4).
public enum UpdateVerdict: Hashable, Sendable {
    /// The version is current.
    ///
    /// The app does not show anything.
    case ok
    /// An update is available.
    ///
    /// The app shows a banner.
    case notify
    /// An update is recommended.
    ///
    /// The app shows a banner.
    case recommend
    /// The version will be blocked after the given time.
    case warn(blockedIn: Duration)
    /// The version may only call Hello, RevokeWithCode, OpenSession and ReportWipe.
    case block(updateAvailable: Bool)
}

/// The features that a server offers to all wallets or to a particular one.
public struct Features: Hashable, Sendable, Codable {
    /// Whether wallets receive a deletion code at registration.
    public var deletionCode: Bool
    /// Whether this wallet uses the safe biometric mode (docs/testing-guide.md, The safe biometric mode).
    public var safeBiometricUnlock: Bool

    /// Creates the features of a server or a wallet.
    package init(deletionCode: Bool, safeBiometricUnlock: Bool) {
        self.deletionCode = deletionCode
        self.safeBiometricUnlock = safeBiometricUnlock
    }
}

/// The version of an app, which consists of one to four numbers.
package struct AppVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// One to four numbers, each `0...999_999`.
    ///
    /// When versions are compared, missing numbers count as 0.
    package let numbers: [Int]

    /// Parses a version such as `1.4.0`.
    package init?(_ text: String) {
        guard let numbers = Self.numbers(in: text, mostDigits: 6) else { return nil }
        self.numbers = numbers
    }

    /// Returns nil for anything other than one to four numbers separated by dots.
    static func numbers(in text: String, mostDigits: Int) -> [Int]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (0x30...0x39).contains($0) } && part.utf8.count <= mostDigits ? Int(part) : nil
        }
        return (1...4).contains(parts.count) && numbers.count == parts.count ? numbers : nil
    }

    package var description: String { self.numbers.map(String.init).joined(separator: ".") }

    private var padded: [Int] { self.numbers + Array(repeating: 0, count: 4 - self.numbers.count) }

    /// Compares the numbers.
    ///
    /// Missing ones count as 0, so 1.4 equals 1.4.0.
    package static func == (left: AppVersion, right: AppVersion) -> Bool { left.padded == right.padded }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.padded) }

    /// Compares the first numbers that differ.
    ///
    /// Missing ones count as 0.
    package static func < (left: AppVersion, right: AppVersion) -> Bool {
        left.padded.lexicographicallyPrecedes(right.padded)
    }
}

/// One to 64 characters of printable ASCII, the only kind of free text accepted from a device.
package struct DeviceText: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Returns nil if the text contains other characters or has another length.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        self.description = text
    }
}

/// Information that an app reports about itself.
///
/// It is used by operators and the update policy, but never trusted.
package struct DeviceFacts: Hashable, Sendable {
    package let appVersion: AppVersion
    /// The version of the operating system, as reported by the app.
    package let osVersion: DeviceText
    /// The model, or nil if the device did not send it.
    package let model: DeviceText?

    package init(appVersion: AppVersion, osVersion: DeviceText, model: DeviceText?) {
        self.appVersion = appVersion
        self.osVersion = osVersion
        self.model = model
    }
}

/// A rule in the update policy: a verdict on a range of versions.
///
/// Rules are ordered. The first one that matches a version applies.
package struct UpdateRule: Hashable, Sendable {
    package enum Word: Hashable, Sendable {
        /// The versions are current.
        case ok
        /// An update is available.
        case notify
        case recommend
        /// The versions will be blocked from the given time on, and an update is available.
        case warn(until: Timestamp)
        /// The versions are blocked (see ``UpdateVerdict/block(updateAvailable:)``).
        case block(updateAvailable: Bool)
    }

    /// The lowest version in the range, or nil if there is no lower bound.
    package let from: AppVersion?
    /// The lowest version above the range, or nil if there is no upper bound.
    package let below: AppVersion?
    /// The verdict on the versions in the range.
    package let word: Word

    /// The maximum number of rules for a platform.
    package static let most = 64

    /// Returns nil if the range is empty.
    package init?(from: AppVersion? = nil, below: AppVersion? = nil, _ word: Word) {
        if let below {
            guard from ?? Self.lowest < below else { return nil }
        }
        self.from = from
        self.below = below
        self.word = word
    }

    package func fits(_ version: AppVersion) -> Bool {
        if let from, version < from { return false }
        if let below, version >= below { return false }
        return true
    }

    /// Returns the verdict at the given time.
    ///
    /// A warning becomes a block once its time has come.
    package func verdict(at now: Timestamp) -> UpdateVerdict {
        switch self.word {
        case .ok: .ok
        case .notify: .notify
        case .recommend: .recommend
        case .warn(let until): until > now ? .warn(blockedIn: until - now) : .block(updateAvailable: true)
        case .block(let updateAvailable): .block(updateAvailable: updateAvailable)
        }
    }

    private static let lowest = AppVersion(number: 0)
}

extension AppVersion {
    /// Creates a version that consists of a single number.
    fileprivate init(number: UInt8) { self.numbers = [Int(number)] }
}

/// A feature that an operator can enable for some wallets before others while the server is running.
package enum FeatureFlag: String, Hashable, Sendable, CaseIterable {
    /// The safe biometric mode (docs/testing-guide.md, The safe biometric mode).
    case safeBiometricUnlock = "safe-biometric-unlock"
}

/// The wallets that a feature is enabled for.
package enum Rollout: Hashable, Sendable {
    /// Disabled for all wallets.
    case off
    /// Enabled for all wallets.
    case on
    /// Enabled for the given wallets.
    ///
    /// The list may contain up to ``mostWallets`` wallets.
    case wallets(Set<WalletID>)
    /// Enabled for a percentage of wallets.
    ///
    /// If the percentage is increased, wallets that were included stay included.
    case percentage(Int)

    /// The maximum number of wallets in a list.
    package static let mostWallets = 1000
    package static let allowedPercentages = 0...100

    /// Whether the list or percentage is allowed.
    package var isAllowed: Bool {
        switch self {
        case .off, .on: true
        case .wallets(let wallets): (1...Self.mostWallets).contains(wallets.count)
        case .percentage(let percentage): Self.allowedPercentages.contains(percentage)
        }
    }
}
