package import DeviceInterface

extension SimulatedDevice {
    /// Pops the profile's first condition if it `applies`.
    ///
    /// The removal is durable.
    ///
    /// Conditions form a queue: one that waits for a certain call blocks those behind it.
    package func takeCondition(
        where applies: (NetworkCondition) -> Bool
    ) throws(DeviceError) -> NetworkCondition? {
        try self.withState { (profile) throws(DeviceError) in
            guard let first = profile.conditions.first, applies(first) else { return nil }
            return profile.conditions.removeFirst()
        }
    }
}
