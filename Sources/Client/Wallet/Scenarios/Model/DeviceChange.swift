internal import SimulatedPhone
internal import Vocabulary
internal import Yams

/// What a scenario states of a phone; everything else stays as it is.
struct DeviceChange: Hashable, Sendable {
    /// Keys of a device profile, as YAML; nil where nothing is stated.
    private let yaml: String?

    /// - Precondition: The checker made `value` of a profile's keys.
    init(_ value: Value?) {
        self.yaml = value?.text
    }

    var isEmpty: Bool { self.yaml == nil }

    /// Changes what is stated; whatever may be wrong with it was refused when the file was read.
    func apply(to profile: inout DeviceProfile) throws(ProfileError) {
        guard let yaml, let node = try? Yams.compose(yaml: yaml) else { return }
        try profile.apply(node, source: "device")
    }

    /// A new phone: an Android phone that asks what is presented at its prompts, and what is stated.
    func newProfile() throws(ProfileError) -> DeviceProfile {
        var profile = DeviceProfile(try self.platform() ?? .android)
        profile.sensor = .ask
        try self.apply(to: &profile)
        return profile
    }

    private func platform() throws(ProfileError) -> Platform? {
        guard let yaml, let node = try? Yams.compose(yaml: yaml), node.mapping?["platform"] != nil else { return nil }
        return try DeviceProfile(node, source: "device").platform
    }
}
