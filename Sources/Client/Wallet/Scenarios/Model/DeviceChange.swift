internal import ConfigText
internal import SimulatedPhone

/// The properties of a phone that a scenario states; the others do not change.
struct DeviceChange: Sendable {
    /// Keys of a device profile; nil if nothing is stated.
    private let value: ConfigValue?

    /// - Precondition: The checker accepted `value` as a profile's keys.
    init(_ value: ConfigValue?) {
        self.value = value?.fields == nil ? nil : value
    }

    var isEmpty: Bool { self.value == nil }

    func apply(to profile: inout DeviceProfile) { profile.apply(self.value) }

    /// A new phone with the stated properties: by default an Android phone whose prompts the scenario answers.
    var newProfile: DeviceProfile {
        var profile = DeviceProfile(self.value)
        if self.value?["sensor"] == nil { profile.sensor = .ask }
        return profile
    }
}
