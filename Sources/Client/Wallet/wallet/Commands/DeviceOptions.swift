import ArgumentParser
internal import ConfigText
internal import WalletFlows
internal import HostSystem
internal import SimulatedPhone
internal import Vocabulary

/// Options that change the simulated phone.
///
/// The changes are permanent.
///
/// Each option sets a key in the device profile, which also defines the accepted values.
struct DeviceOptions: ParsableArguments {
    static let title = "Simulated device"

    @Option(
        help: ArgumentHelp(
            "Replace the device profile with this file; a phone cannot change its platform.",
            discussion: "The other options override its values. docs/devices.md lists the keys.",
            valueName: "file"
        ),
        completion: .file()
    )
    var profile: String?

    @Option(help: ArgumentHelp("android or ios; fixed when the phone is created.", valueName: "name"))
    var platform: PlatformName?

    @Option(
        help: ArgumentHelp("The biometric of the phone: none, not-enrolled, face or fingerprint.", valueName: "kind"),
        completion: .list(BiometricSupport.allCases.map(\.rawValue))
    )
    var biometrics: String?

    @Option(
        help: ArgumentHelp("The phone's answer to prompts: match, reject:N, cancel, lockout or ask.", valueName: "how"),
        completion: .list(["match", "reject:1", "cancel", "lockout", "ask"])
    )
    var sensor: String?

    @Flag(inversion: .prefixedNo, help: "Whether a passcode guards the phone.")
    var passcode: Bool?

    @Flag(inversion: .prefixedNo, help: "Whether the phone is rooted or jailbroken.")
    var rooted: Bool?

    @Option(
        help: ArgumentHelp("The phone's network: on, off or unreachable.", valueName: "state"),
        completion: .list(DeviceProfile.Network.allCases.map(\.rawValue))
    )
    var network: String?

    @Option(
        help: ArgumentHelp(
            "A disturbance of the next call; repeat the option for later calls.",
            discussion: "One of: \(NetworkCondition.forms.joined(separator: ", ")).",
            valueName: "what"
        )
    )
    var condition: [String] = []

    @Option(help: ArgumentHelp("The app's package (Android), or team and bundle (iOS).", valueName: "id"))
    var appID: String?

    @Option(help: ArgumentHelp("The app's version, such as 1.4.0.", valueName: "version"))
    var appVersion: String?

    @Option(help: ArgumentHelp("The operating system's version.", valueName: "version"))
    var osVersion: String?

    @Option(help: ArgumentHelp("The phone's model.", valueName: "text"))
    var model: String?

    @Option(help: ArgumentHelp("Android: the system's patch level, such as 202610.", valueName: "yyyymm"))
    var patchLevel: String?

    @Option(
        help: ArgumentHelp(
            "A defect in the phone's attestation, or none.",
            discussion: "One of: \(Fault.allCases.map(\.rawValue).sorted().joined(separator: ", ")).",
            valueName: "name"
        ),
        completion: .list(["none"] + Fault.allCases.map(\.rawValue))
    )
    var fault: String?

    @Option(
        help: ArgumentHelp(
            "Set any key of the profile, as in --set issuer=cancels; repeatable.",
            valueName: "key=value"
        )
    )
    var set: [String] = []

    enum PlatformName: String, ExpressibleByArgument, CaseIterable {
        case android, ios

        var platform: Platform {
            switch self {
            case .android: .android
            case .ios: .iOS
            }
        }
    }

    /// Returns the keys and values that were given, in the order of the options.
    private func changes() throws(PhoneError) -> [(key: String, value: String)] {
        func word(_ truth: Bool) -> String { truth ? "true" : "false" }
        // The text of an option is not read as YAML.
        func quoted(_ text: String?) -> String? { text.map(JSONText.quoted) }
        let values = [
            ("biometrics", self.biometrics), ("sensor", self.sensor), ("passcode", self.passcode.map(word)),
            ("rooted", self.rooted.map(word)), ("network", self.network), ("app_id", quoted(self.appID)),
            ("app_version", quoted(self.appVersion)), ("os_version", quoted(self.osVersion)),
            ("model", quoted(self.model)),
            ("os_patch_level", self.patchLevel), ("fault", self.fault),
        ]
        var changes = values.compactMap { key, value in value.map { (key: key, value: $0) } }
        if !self.condition.isEmpty {
            changes.append(("conditions", "[\(self.condition.map { "\"\($0)\"" }.joined(separator: ", "))]"))
        }
        for entry in self.set {
            guard let equals = entry.firstIndex(of: "=") else { throw .usage("--set needs KEY=VALUE") }
            changes.append((String(entry[..<equals]), String(entry[entry.index(after: equals)...])))
        }
        return changes
    }

    func newProfile() throws(PhoneError) -> DeviceProfile {
        guard let file = self.profile else { return DeviceProfile(self.platform?.platform ?? .android) }
        return try mapError(DeviceProfile(file: file)) { (error: ConfigError) in PhoneError(error) }
    }

    /// Applies the options to the device.
    func change(_ device: SimulatedDevice) throws(PhoneError) {
        var profile = self.profile == nil ? device.profile : try self.newProfile()
        if let platform = self.platform?.platform { profile.platform = platform }
        let changes = try self.changes()
        do {
            for (key, value) in changes { try profile.set(key, to: value) }
        } catch {
            throw PhoneError(error)
        }
        try device.replaceProfile(with: profile)
    }
}

extension SimulatedDevice {
    /// Durably replaces the profile.
    ///
    /// - Throws: A usage error if the platform differs, which cannot be changed.
    func replaceProfile(with profile: DeviceProfile) throws(PhoneError) {
        guard profile.platform == self.platform else {
            throw .usage(
                "the platform of this phone is \(self.platform.rawValue) and cannot be changed; use another --home"
            )
        }
        guard profile != self.profile else { return }
        try mapError(self.update { $0 = profile }) { (error: DeviceError) in PhoneError(error) }
    }
}
