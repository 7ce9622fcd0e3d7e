package import ConfigText
internal import HostSystem
internal import Vocabulary
internal import Wire

/// All keys in a device profile.
///
/// Files, changes, the scenario format and the documentation are derived from this table.
enum ProfileTable {
    static let all = Self.software + Self.attestation + Self.owner + Self.network

    private static let software = [
        ProfileField("platform", \.platform, .choice, "Operating system; it never changes on an existing phone."),
        ProfileField("os_version", \.osVersion, .deviceText, "Version of the operating system."),
        ProfileField("brand", \.brand, .label, "Manufacturer."),
        ProfileField("model", \.model, .deviceText, "Model."),
        ProfileField("app_id", \.appID, .label, "Android: package of the app. iOS: team and bundle identifier."),
        ProfileField("app_version", \.appVersion, .appVersion, "Version of the app."),
        ProfileField(
            "app_version_code",
            \.appVersionCode,
            .number(1...2_100_000_000),
            "Android: version code, by which versions of the app are compared."
        ),
        ProfileField("rooted", \.isRooted, .flag, "The app finds signs of a rooted or jailbroken system."),
    ]

    private static let attestation = [
        ProfileField(
            "os_patch_level",
            \.osPatchLevel,
            .patchLevel,
            "Android: year and month of the system's security patch, as in 202610."
        ),
        ProfileField(
            "vendor_patch_level",
            \.vendorPatchLevel,
            .optional(.patchLevel),
            "Android: year, month and day of the vendor image's security patch, as in 20261005."
        ),
        ProfileField(
            "boot_patch_level",
            \.bootPatchLevel,
            .optional(.patchLevel),
            "Android: year, month and day of the boot image's security patch."
        ),
        ProfileField("strongbox", \.hasStrongBox, .flag, "Android: keys are stored in a separate security chip."),
        ProfileField(
            "remote_provisioning",
            \.isRemotelyProvisioned,
            .flag,
            "Android: the attestation key is from the vendor's server instead of the factory."
        ),
        ProfileField(
            "development_service",
            \.usesDevelopmentService,
            .flag,
            "iOS: the app uses Apple's development service."
        ),
        ProfileField("fault", \.fault, .optional(.fault), "Error in the phone's attestation."),
    ]

    private static let owner = [
        ProfileField("biometrics", \.biometrics, .choice, "Biometrics that the phone supports and the owner enrolled."),
        ProfileField("sensor", \.sensor, .sensor, "The owner's behavior at biometric prompts."),
        ProfileField("passcode", \.hasPasscode, .flag, "The phone has a passcode."),
        ProfileField("screen_locked", \.isScreenLocked, .flag, "The phone's screen is locked."),
        ProfileField("issuer", \.issuer, .choice, "Result of a request to the issuer of identities."),
        ProfileField(
            "recovery_code",
            \.recoveryCode,
            .optional(.text("text", "1 to 128 visible ASCII characters") { RecoveryCode($0.utf8) != nil }),
            "The owner's recovery code; with none the phone's owner is a person with a unique code."
        ),
    ]

    private static let network = [
        ProfileField("network", \.network, .network, "Availability of the network and of the server in it."),
        ProfileField(
            "conditions",
            \.conditionsOrNone,
            .list(of: .optional(.condition), atMost: nil),
            "Network faults of the next calls, one for each call."
        ),
    ]
}

extension DeviceProfile {
    /// The conditions as optionals, for a kind that also accepts `none`.
    fileprivate var conditionsOrNone: [NetworkCondition?] {
        get { self.conditions }
        set { self.conditions = newValue.compactMap(\.self) }
    }
}

extension Kind where Value == String {
    fileprivate static var label: Kind { .text("text", "1 to 100 characters") { (1...100).contains($0.count) } }

    /// A text that the protocol can carry, which an app therefore can report.
    fileprivate static var deviceText: Kind {
        .word(
            "text",
            "1 to 64 characters of printable ASCII",
            schema: .pattern("^[ -~]{1,64}$"),
            read: { DeviceText($0) == nil ? nil : $0 },
            write: { $0 }
        )
    }

    /// A version that the protocol can carry.
    fileprivate static var appVersion: Kind {
        .word(
            "version",
            "a version of one to four numbers of at most six digits, such as 1.4.0",
            schema: .pattern(#"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$"#),
            read: { AppVersion($0) == nil ? nil : $0 },
            write: { $0 }
        )
    }
}

extension Kind where Value == Int {
    /// A patch level as stated by a phone.
    fileprivate static var patchLevel: Kind {
        .word(
            "date",
            "a date as yyyymm or yyyymmdd",
            schema: .pattern("^[0-9]{6}([0-9]{2})?$"),
            read: { text in Int(text).flatMap { PatchLevel(stated: $0) == nil ? nil : $0 } },
            write: { "\($0)" }
        )
    }
}

extension Kind where Value == Fault {
    fileprivate static var fault: Kind {
        .word(
            "fault",
            "a fault's name",
            names: Fault.allCases.map(\.rawValue),
            read: { Fault(rawValue: $0) },
            write: { $0.rawValue }
        )
    }
}

extension Kind where Value == Sensor {
    fileprivate static var sensor: Kind {
        .word(
            "sensor",
            Sensor.forms.joined(separator: ", "),
            names: Sensor.forms,
            takesArgument: true,
            read: { Sensor($0) },
            write: { "\($0)" }
        )
    }
}

extension Kind where Value == DeviceProfile.Network {
    /// A choice of names that also accepts booleans, since YAML 1.1 writers emit `on` and `off` as `true` and `false`.
    fileprivate static var network: Kind {
        let names = Value.allCases.map(\.rawValue)
        return .word(
            "word",
            "on, off or unreachable",
            names: names,
            read: { Value(rawValue: ["true": "on", "false": "off"][$0] ?? $0) },
            write: { $0.rawValue }
        )
    }
}

extension Kind where Value == NetworkCondition {
    fileprivate static var condition: Kind {
        .word(
            "condition",
            NetworkCondition.forms.joined(separator: ", "),
            names: NetworkCondition.forms + Call.Kind.allCases.map { "lose-next-reply:\($0.rawValue)" },
            takesArgument: true,
            read: { NetworkCondition($0) },
            write: { $0.description }
        )
    }
}

/// A key in a device profile, with its documentation and the property it refers to.
struct ProfileField: Sendable {
    let field: Field
    let set: @Sendable (ConfigValue, inout DeviceProfile) -> Void
    let value: @Sendable (DeviceProfile) -> ConfigValue

    init<Value: Sendable>(
        _ name: String,
        _ path: any (WritableKeyPath<DeviceProfile, Value> & Sendable),
        _ kind: Kind<Value>,
        _ text: String
    ) {
        self.field = Field(name, kind.shape, text)
        self.set = { value, profile in
            if let value = kind.read(value, "") { profile[keyPath: path] = value }
        }
        self.value = { kind.write($0[keyPath: path]) }
    }
}

extension DeviceProfile {
    /// Reads a profile from a file.
    ///
    /// Missing keys default to those of a healthy device.
    package init(file path: String) throws(ConfigError) {
        let bytes = try mapError(DurableFile.read(path, atMost: 65_536)) { (error: FileError) in
            ConfigError(problems: [ConfigProblem(source: path, message: error.reason)])
        }
        self = try Self(yaml: String(decoding: bytes, as: UTF8.self), source: path)
    }

    /// Parses a profile.
    ///
    /// Error messages refer to the text as `source`.
    package init(yaml text: String, source: String) throws(ConfigError) {
        var checker = Checker(source: source)
        let value = checker.read(text, as: Self.shape(requiring: "platform"))
        guard let value, checker.problems.isEmpty else { throw ConfigError(problems: checker.problems) }
        self.init(value)
    }

    /// Creates a healthy device and applies the given properties.
    ///
    /// The platform defaults to Android.
    ///
    /// - Precondition: The value has the form described by ``shape``.
    package init(_ value: ConfigValue?) {
        self.init(value?["platform"]?.text.flatMap { Platform(rawValue: $0) } ?? .android)
        self.apply(value)
    }

    /// Applies the given properties and keeps all others.
    ///
    /// - Precondition: The value has the form described by ``shape``.
    package mutating func apply(_ value: ConfigValue?) {
        for field in ProfileTable.all {
            if let value = value?[field.field.name] { field.set(value, &self) }
        }
    }

    /// Sets a key to a value given as text, for example on a command line.
    ///
    /// If the value is invalid, the profile does not change.
    package mutating func set(_ key: String, to value: String) throws(ConfigError) {
        var checker = Checker(source: "profile")
        let value = checker.read(value, key: key, of: ProfileTable.all.map(\.field))
        guard checker.problems.isEmpty else { throw ConfigError(problems: checker.problems) }
        self.apply(value)
    }

    package static let shape = Self.shape(requiring: nil)

    /// The table for docs/devices.md.
    static var markdown: String { TextLayout.markdown(ProfileTable.all.map(\.field)) }

    /// The profile as YAML, with all keys written out.
    package var yaml: String {
        get throws { try ConfigValue.yaml(ProfileTable.all.map { ($0.field.name, $0.value(self)) }) }
    }

    /// Returns the keys whose values differ from another profile's, in file order, with their values in this profile.
    package func changes(from other: DeviceProfile) -> [(String, ConfigValue)] {
        ProfileTable.all.compactMap { item in
            let value = item.value(self)
            return value.flowText == item.value(other).flowText ? nil : (item.field.name, value)
        }
    }

    private static func shape(requiring name: String?) -> Shape {
        let fields = ProfileTable.all.map { item in
            let field = item.field
            return field.name == name ? Field(field.name, field.shape, field.text, required: true) : field
        }
        return .fields(fields) { value in
            var profile = DeviceProfile(.android)
            profile.apply(value)
            guard value["biometrics"] != nil, value["passcode"] != nil, profile.usableBiometrics != profile.biometrics
            else { return nil }
            return ("biometrics", "cannot be enrolled on a phone without a passcode")
        }
    }
}
