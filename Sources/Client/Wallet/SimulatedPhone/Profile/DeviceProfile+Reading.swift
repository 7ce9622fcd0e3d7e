package import ConfigText
internal import HostSystem
internal import Vocabulary

extension DeviceProfile {
    /// Reads a profile's file; keys that are missing have the values of a healthy device of the platform.
    package init(file path: String) throws(ConfigError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try DurableFile.read(path, atMost: 65_536)
        } catch {
            throw ConfigError(problems: [ConfigProblem(source: path, message: error.reason)])
        }
        self = try Self(yaml: String(decoding: bytes, as: UTF8.self), source: path)
    }

    /// Reads a profile's text; problems name `source`.
    package init(yaml text: String, source: String) throws(ConfigError) {
        var checker = Checker(source: source)
        let value = checker.read(text, as: Self.shape(requiring: "platform"))
        guard let value, checker.problems.isEmpty else { throw ConfigError(problems: checker.problems) }
        self.init(value)
    }

    /// A healthy device of the stated platform, or of Android, with the other properties that the value states.
    ///
    /// - Precondition: The value has the form ``shape``.
    package init(_ value: ConfigValue?) {
        self.init(value?["platform"]?.text.flatMap { Platform(rawValue: $0) } ?? .android)
        self.apply(value)
    }

    /// Changes only the properties that the value states.
    ///
    /// - Precondition: The value has the form ``shape``.
    package mutating func apply(_ value: ConfigValue?) {
        for field in ProfileTable.all {
            if let value = value?[field.field.name] { field.set(value, &self) }
        }
    }

    /// Changes one key, as a command line or a driver names it; changes nothing if the value is wrong.
    package mutating func set(_ key: String, to value: String) throws(ConfigError) {
        var checker = Checker(source: "profile")
        let value = checker.read(value, key: key, of: ProfileTable.all.map(\.field))
        guard checker.problems.isEmpty else { throw ConfigError(problems: checker.problems) }
        self.apply(value)
    }

    /// The keys of a profile.
    package static let shape = Self.shape(requiring: nil)

    /// The table in docs/devices.md.
    static var markdown: String { TextLayout.markdown(ProfileTable.all.map(\.field)) }

    /// The file's text with every key.
    package var yaml: String {
        get throws { try ConfigValue.yaml(ProfileTable.all.map { ($0.field.name, $0.value(self)) }) }
    }

    /// The keys whose values differ from those of another profile, in the order of the file.
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
