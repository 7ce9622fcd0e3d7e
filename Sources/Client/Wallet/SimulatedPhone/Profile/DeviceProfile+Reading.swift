package import ConfigText
internal import HostSystem
internal import Vocabulary

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

    /// The keys of a profile.
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
