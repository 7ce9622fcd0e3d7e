import ArgumentParser
internal import ConfigText
internal import DeviceInterface
internal import SimulatedPhone
internal import Phone
internal import Vocabulary

/// What the simulated phone is; stays so until it is changed.
///
/// Each option is one key of a profile under the name that a command line gives it; the profile says what it takes.
struct DeviceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A device profile; its platform is decided when the phone is first used.",
            discussion: "What the other options say goes before it. docs/devices.md lists the keys.",
            valueName: "file"
        ),
        completion: .file()
    )
    var profile: String?

    @Option(help: ArgumentHelp("android or ios; decided when the phone is first used.", valueName: "name"))
    var platform: PlatformName?

    @Option(
        help: ArgumentHelp(
            "What recognizes the phone's owner: none, not-enrolled, face or fingerprint.",
            valueName: "kind"
        ),
        completion: .list(BiometricSupport.allCases.map(\.rawValue))
    )
    var biometrics: String?

    @Option(
        help: ArgumentHelp(
            "How the phone answers prompts: match, reject:N, cancel, lockout or ask.",
            valueName: "how"
        ),
        completion: .list(["match", "reject:1", "cancel", "lockout", "ask"])
    )
    var sensor: String?

    @Flag(inversion: .prefixedNo, help: "The phone is guarded by a passcode.")
    var passcode: Bool?

    @Flag(inversion: .prefixedNo, help: "The phone is rooted or jailbroken.")
    var rooted: Bool?

    @Option(
        help: ArgumentHelp("The phone's network: on, off or unreachable.", valueName: "state"),
        completion: .list(DeviceProfile.Network.allCases.map(\.rawValue))
    )
    var network: String?

    @Option(
        help: ArgumentHelp(
            "What the network does to the next call; may be given again for those after it.",
            discussion: "One of: \(NetworkCondition.forms.joined(separator: ", ")).",
            valueName: "what"
        )
    )
    var condition: [String] = []

    @Option(help: ArgumentHelp("The app's package, or team and bundle.", valueName: "id"))
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
            "What the phone's attestation does wrong, or none.",
            discussion: "One of: \(Fault.allCases.map(\.rawValue).sorted().joined(separator: ", ")).",
            valueName: "name"
        ),
        completion: .list(["none"] + Fault.allCases.map(\.rawValue))
    )
    var fault: String?

    @Option(
        help: ArgumentHelp(
            "Any key of the profile, as in --set issuer=cancels; may be given again.",
            valueName: "key=value"
        )
    )
    var set: [String] = []

    /// A platform by its name.
    enum PlatformName: String, ExpressibleByArgument, CaseIterable {
        case android
        case ios

        var platform: Platform {
            switch self {
            case .android: .android
            case .ios: .iOS
            }
        }
    }

    /// The keys that were given, in the order in which they are listed.
    private func changes() throws(PhoneError) -> [(key: String, value: String)] {
        func word(_ truth: Bool) -> String { truth ? "true" : "false" }
        let values = [
            ("biometrics", self.biometrics), ("sensor", self.sensor), ("passcode", self.passcode.map(word)),
            ("rooted", self.rooted.map(word)), ("network", self.network), ("app_id", self.appID),
            ("app_version", self.appVersion), ("os_version", self.osVersion), ("model", self.model),
            ("os_patch_level", self.patchLevel), ("fault", self.fault),
        ]
        var changes = values.compactMap { key, value in value.map { (key: key, value: $0) } }
        if !self.condition.isEmpty {
            changes.append(("conditions", "[\(self.condition.map { "\"\($0)\"" }.joined(separator: ", "))]"))
        }
        for entry in self.set {
            guard let equals = entry.firstIndex(of: "=") else { throw .usage("--set takes KEY=VALUE") }
            changes.append((String(entry[..<equals]), String(entry[entry.index(after: equals)...])))
        }
        return changes
    }

    /// What a phone that is used for the first time is.
    func newProfile() throws(PhoneError) -> DeviceProfile {
        guard let file = self.profile else { return DeviceProfile(self.platform?.platform ?? .android) }
        do throws(ConfigError) {
            return try DeviceProfile(file: file)
        } catch {
            throw .usage("\(error)")
        }
    }

    /// Makes the device what the options say; its platform is decided already.
    func change(_ device: SimulatedDevice) throws(PhoneError) {
        if let platform = self.platform?.platform, platform != device.platform {
            throw .usage("this phone is \(device.platform.rawValue), and stays so")
        }
        var profile = self.profile == nil ? device.profile : try self.newProfile()
        let changes = try self.changes()
        do throws(ConfigError) {
            for (key, value) in changes { try profile.set(key, to: value) }
        } catch {
            throw .usage("\(error)")
        }
        guard profile != device.profile else { return }
        do throws(DeviceError) {
            try device.update { $0 = profile }
        } catch {
            throw .device(error)
        }
    }
}
