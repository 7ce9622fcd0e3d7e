/// The operating system of a wallet's device; decides the form of its attestation and proofs.
public enum Platform: String, Hashable, Sendable, CaseIterable {
    /// Android: Key Attestation chains and signatures by the hardware key.
    case android
    /// iOS: App Attest objects and assertions.
    case iOS = "ios"
}

/// The update policy's verdict on a version of the app (flows.md PF1.4).
public enum UpdateVerdict: Hashable, Sendable {
    /// The version is current; the app shows nothing.
    case ok
    /// An update is available; the app shows a banner.
    case notify
    /// An update is recommended; the app shows a banner.
    case recommend
    /// The version will be blocked after `blockedIn`.
    case warn(blockedIn: Duration)
    /// The version may call only Hello, RevokeWithCode, OpenSession and ReportWipe.
    case block(updateAvailable: Bool)
}

/// The features that a server offers, to all wallets or to one.
public struct Features: Hashable, Sendable {
    /// Wallets receive a deletion code at registration.
    public var deletionCode: Bool
    /// This wallet uses the safe biometric mode (safe-biometric.md).
    public var safeBiometricUnlock: Bool

    /// Creates the features of a server or of one wallet.
    public init(deletionCode: Bool, safeBiometricUnlock: Bool) {
        self.deletionCode = deletionCode
        self.safeBiometricUnlock = safeBiometricUnlock
    }
}

/// The version of an app: one to four numbers, compared number by number.
public struct AppVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// One to four numbers, each `0...999_999`; missing ones count as 0 when compared.
    public let numbers: [Int]

    /// Reads `1.4.0`; returns nil for anything except one to four numbers separated by dots.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var numbers: [Int] = []
        for part in parts {
            guard (1...6).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(part)
            else { return nil }
            numbers.append(number)
        }
        self.numbers = numbers
    }

    public var description: String { self.numbers.map(String.init).joined(separator: ".") }

    private var padded: [Int] { self.numbers + Array(repeating: 0, count: 4 - self.numbers.count) }

    /// Compares the numbers; missing ones count as 0, so 1.4 equals 1.4.0.
    public static func == (left: AppVersion, right: AppVersion) -> Bool { left.padded == right.padded }

    public func hash(into hasher: inout Hasher) { hasher.combine(self.padded) }

    /// Compares the first numbers that differ; missing ones count as 0.
    public static func < (left: AppVersion, right: AppVersion) -> Bool {
        left.padded.lexicographicallyPrecedes(right.padded)
    }
}

/// One to 64 bytes of printable ASCII, the only kind of free text accepted from a device.
package struct DeviceText: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Returns nil for other characters and other lengths.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        self.description = text
    }
}

/// An app's claims about itself, used by operators and the update policy, but never trusted.
package struct DeviceFacts: Hashable, Sendable {
    /// The version that the app claims to have.
    package let appVersion: AppVersion
    /// The version that the operating system claims to have.
    package let osVersion: DeviceText
    /// The model; nil if the device did not send it.
    package let model: DeviceText?

    /// Creates the claims of an app.
    package init(appVersion: AppVersion, osVersion: DeviceText, model: DeviceText?) {
        self.appVersion = appVersion
        self.osVersion = osVersion
        self.model = model
    }
}
