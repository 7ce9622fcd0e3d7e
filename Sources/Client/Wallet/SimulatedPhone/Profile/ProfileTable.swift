internal import DeviceInterface
internal import Vocabulary
internal import Yams

/// All that a profile can say, written once: files, changes and the documentation come from here.
enum ProfileTable {
    static let all = Self.software + Self.attestation + Self.owner + Self.network

    /// The rows of the table in docs/devices.md.
    static var markdown: String {
        self.all.map { "| `\($0.name)` | \($0.allowed) | \($0.text) |" }.joined(separator: "\n")
    }

    private static let software: [ProfileField] = [
        .value(
            "platform",
            \.platform,
            "The operating system; a phone's never changes.",
            names: Platform.allCases.map(\.rawValue),
            reading: { Platform(rawValue: $0) },
            writing: { $0.rawValue }
        ),
        .text("os_version", \.osVersion, "Its version, as people know it."),
        .text("brand", \.brand, "Who made the phone."),
        .text("model", \.model, "What they call it."),
        .text("app_id", \.appID, "Android: the app's package; iOS: team and bundle."),
        .text("app_version", \.appVersion, "The app's version."),
        .number(
            "app_version_code",
            \.appVersionCode,
            in: 1...2_100_000_000,
            "Android: the number by which versions of the app are compared."
        ),
        .flag("rooted", \.isRooted, "The app finds signs of a rooted or jailbroken system."),
    ]

    private static let attestation: [ProfileField] = [
        .number("os_patch_level", \.osPatchLevel, in: 200_001...209_912, "Android: year and month, as in 202610."),
        Self.day("vendor_patch_level", \.vendorPatchLevel, "Android: year, month and day, as in 20261005."),
        Self.day("boot_patch_level", \.bootPatchLevel, "Android: year, month and day."),
        .flag("strongbox", \.hasStrongBox, "Android: keys live in a secure element of their own."),
        .flag(
            "remote_provisioning",
            \.isRemotelyProvisioned,
            "Android: the attestation key was fetched from the vendor, not put in at the factory."
        ),
        .flag("development_service", \.usesDevelopmentService, "iOS: the app uses Apple's development service."),
        .optional(
            "fault",
            \.fault,
            "What the phone's attestation does wrong.",
            allowed: "a fault's name or none",
            names: Fault.allCases.map(\.rawValue),
            reading: { Fault(rawValue: $0) },
            writing: { $0.rawValue }
        ),
    ]

    private static let owner: [ProfileField] = [
        .choice("biometrics", \.biometrics, "What the phone can recognize its owner by."),
        .value(
            "sensor",
            \.sensor,
            "How the phone answers its prompts.",
            names: Sensor.forms,
            reading: { Sensor($0) },
            writing: { "\($0)" }
        ),
        .flag("passcode", \.hasPasscode, "The phone is guarded by a passcode."),
        .flag("screen_locked", \.isScreenLocked, "The phone's screen is locked."),
        .choice("issuer", \.issuer, "What the issuer of identities does."),
        .optional(
            "recovery_code",
            \.recoveryCode,
            "The owner's recovery code; none: somebody of their own.",
            allowed: "1 to 128 bytes of text, or none",
            reading: { (1...128).contains($0.utf8.count) ? $0 : nil },
            writing: { $0 }
        ),
    ]

    private static let network: [ProfileField] = [
        ProfileField(
            name: "network",
            text: "Whether the phone has a network and the server is in it.",
            allowed: "on, off, unreachable",
            read: { node, profile in
                // `true` and `false` are what YAML's own writers make of on and off.
                let word = ProfileField.word(node)
                switch word {
                case "on", "true": profile.network = .on
                case "off", "false": profile.network = .off
                case "unreachable": profile.network = .unreachable
                default:
                    let names = DeviceProfile.Network.allCases.map(\.rawValue)
                    return ProfileField.refusal(of: word, names: names, allowed: "one of on, off, unreachable")
                }
                return nil
            },
            write: { Node($0.network.rawValue, Tag(.implicit)) }
        ),
        ProfileField(
            name: "conditions",
            text: "What the network does to the next calls, each to one of them.",
            allowed: "a list of \(NetworkCondition.forms.joined(separator: ", ")), or none",
            read: Self.readConditions,
            write: { Node($0.conditions.map { Node($0.description) }, Tag(.implicit), .flow) }
        ),
    ]

    @Sendable private static func readConditions(_ node: Node, _ profile: inout DeviceProfile) -> String? {
        if node.scalar?.string == "none" {
            profile.conditions = []
            return nil
        }
        var conditions: [NetworkCondition] = []
        for node in node.sequence.map({ Array($0) }) ?? [node] {
            let word = ProfileField.word(node)
            guard let condition = word.flatMap({ NetworkCondition($0) }) else {
                let allowed = "one of \(NetworkCondition.forms.joined(separator: ", "))"
                let calls = NetworkCondition.CallName.allCases.map { "lose-next-reply:\($0.rawValue)" }
                return ProfileField.refusal(of: word, names: NetworkCondition.forms + calls, allowed: allowed)
            }
            conditions.append(condition)
        }
        profile.conditions = conditions
        return nil
    }

    private static func day(_ name: String, _ path: ProfileField.Path<Int?>, _ text: String) -> ProfileField {
        .optional(
            name,
            path,
            text,
            allowed: "yyyymmdd or none",
            reading: { word in Int(word).flatMap { (20_000_101...20_991_231).contains($0) ? $0 : nil } },
            writing: { "\($0)" }
        )
    }
}
