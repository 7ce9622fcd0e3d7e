internal import ConfigText
internal import SimulatedPhone

/// The phone properties that a scenario sets.
///
/// All other properties keep their values.
struct DeviceChange: Sendable {
    /// Keys of a device profile, or nil if none are set.
    private let value: ConfigValue?

    /// - Precondition: `value` was accepted by the checker as the keys of a profile.
    init(_ value: ConfigValue?) {
        self.value = value?.fields == nil ? nil : value?.unescaped
    }

    var isEmpty: Bool { self.value == nil }

    func apply(to profile: inout DeviceProfile) { profile.apply(self.value) }

    /// The profile for a new phone.
    ///
    /// The default is an Android phone whose prompts are answered by the scenario.
    var newProfile: DeviceProfile {
        var profile = DeviceProfile(self.value)
        if self.value?["sensor"] == nil { profile.sensor = .ask }
        return profile
    }
}
