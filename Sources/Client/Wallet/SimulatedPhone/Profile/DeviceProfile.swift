package import WalletFlows
internal import Lab
package import Vocabulary
package import Wire

/// The properties of a simulated device, stored in `profile.yaml`; ``ProfileTable`` describes each.
package struct DeviceProfile: Hashable, Sendable {
    package var platform: Platform
    package var osVersion: String
    package var brand: String
    package var model: String
    package var appID: String
    package var appVersion: String
    package var appVersionCode: Int64
    package var isRooted: Bool
    package var osPatchLevel: Int
    /// Nil if the device does not report it.
    package var vendorPatchLevel: Int?
    /// Android: like ``vendorPatchLevel``, for the boot image.
    package var bootPatchLevel: Int?
    package var hasStrongBox: Bool
    package var isRemotelyProvisioned: Bool
    package var usesDevelopmentService: Bool
    package var fault: Fault?

    package var biometrics = BiometricSupport.none
    package var sensor = Sensor.match
    package var hasPasscode = true
    package var isScreenLocked = false

    package var network = Network.on
    package var conditions: [NetworkCondition] = []

    package var issuer = IssuerBehavior.obtains
    /// The owner's recovery code, or nil if the owner has a unique code.
    package var recoveryCode: String?

    package enum Network: String, Hashable, Sendable, CaseIterable {
        case on
        /// The phone has no network, so the app asks the user to check the connection.
        case off
        /// The phone has a network connection, but cannot reach the server.
        case unreachable
    }

    /// The issuer's response to a request for an identity.
    package enum IssuerBehavior: String, Hashable, Sendable, CaseIterable {
        case obtains, cancels
        /// The issuer cannot identify the user.
        case fails
    }

    /// Whether the phone is online, even if it cannot reach the server.
    package var hasNetwork: Bool {
        get { self.network != .off }
        set { self.network = newValue ? .on : .off }
    }

    /// The biometrics as reported to the app.
    ///
    /// Phones do not allow enrollment without a passcode.
    package var usableBiometrics: BiometricSupport {
        self.biometrics.isEnrolled && !self.hasPasscode ? .notEnrolled : self.biometrics
    }

    /// Creates a healthy device that runs the lab's app.
    package init(_ platform: Platform) {
        let isAndroid = platform == .android
        let android = AndroidPhone()
        self.platform = platform
        self.osVersion = isAndroid ? android.osVersion : "26.1"
        self.brand = isAndroid ? android.brand : "Apple"
        self.model = isAndroid ? android.model : "iPhone17,1"
        self.appID = isAndroid ? android.package : LabApp.iOSAppID
        self.appVersion = LabApp.version
        self.appVersionCode = android.packageVersion
        self.isRooted = false
        self.osPatchLevel = android.osPatchLevel
        self.vendorPatchLevel = android.vendorPatchLevel
        self.bootPatchLevel = android.bootPatchLevel
        self.hasStrongBox = false
        self.isRemotelyProvisioned = false
        self.usesDevelopmentService = false
    }
}

/// The owner's response to biometric prompts.
package enum Sensor: Hashable, Sendable, CustomStringConvertible {
    /// The owner is recognized.
    case match
    /// The sensor rejects this many attempts before it recognizes the owner.
    case reject(Int)
    case cancel
    /// The sensor is locked until the passcode is entered.
    case lockout
    /// The tester or the controlling program answers each prompt.
    case ask

    /// The behavior as written in profiles.
    package var description: String {
        switch self {
        case .match: "match"
        case .reject(let count): "reject:\(count)"
        case .cancel: "cancel"
        case .lockout: "lockout"
        case .ask: "ask"
        }
    }

    /// Parses a behavior as written in profiles.
    package init?(_ text: String) {
        switch text {
        case "match": self = .match
        case "cancel": self = .cancel
        case "lockout": self = .lockout
        case "ask": self = .ask
        default:
            guard let count = ProfileText.number(after: "reject", in: text, within: 1...99) else { return nil }
            self = .reject(count)
        }
    }

    /// All supported forms, for messages and help.
    package static let forms = ["match", "reject:N", "cancel", "lockout", "ask"]
}

/// A one-time network fault.
package enum NetworkCondition: Hashable, Sendable, CustomStringConvertible {
    /// Drops the connection after the server has executed the call, but before the reply arrives.
    ///
    /// If `to` is nil, this applies to the next call, whatever it is.
    case loseReply(to: Call.Kind?)
    /// Delays the next call.
    case delay(milliseconds: Int)
    /// Closes the connection after the given number of bytes, counting both directions.
    case cut(afterByteCount: Int)

    /// The condition as written in profiles.
    package var description: String {
        switch self {
        case .loseReply(to: nil): "lose-next-reply"
        case .loseReply(to: .some(let call)): "lose-next-reply:\(call.rawValue)"
        case .delay(let milliseconds): "delay:\(milliseconds)"
        case .cut(let byteCount): "cut-after:\(byteCount)"
        }
    }

    package init?(_ text: String) {
        if text == "lose-next-reply" {
            self = .loseReply(to: nil)
        } else if let name = ProfileText.argument(of: "lose-next-reply", in: text), let call = Call.Kind(rawValue: name)
        {
            self = .loseReply(to: call)
        } else if let number = ProfileText.number(after: "delay", in: text, within: 1...600_000) {
            self = .delay(milliseconds: number)
        } else if let number = ProfileText.number(after: "cut-after", in: text, within: 0...1_000_000_000) {
            self = .cut(afterByteCount: number)
        } else {
            return nil
        }
    }

    /// All supported forms, for messages and help.
    package static let forms = ["lose-next-reply", "lose-next-reply:CALL", "delay:MS", "cut-after:BYTES"]
}

/// Parses a name with an argument, such as `reject:2`.
enum ProfileText {
    /// Returns the argument after the name and a colon, or nil if the text starts with a different name.
    static func argument(of name: String, in text: String) -> String? {
        guard text.hasPrefix(name + ":") else { return nil }
        let argument = text.dropFirst(name.count + 1).drop { $0 == " " }
        return argument.isEmpty ? nil : String(argument)
    }

    /// Returns the argument if it is a number within the range.
    static func number(after name: String, in text: String, within range: ClosedRange<Int>) -> Int? {
        guard let argument = self.argument(of: name, in: text), argument.allSatisfy(\.isNumber),
            let number = Int(argument), range.contains(number)
        else { return nil }
        return number
    }
}
