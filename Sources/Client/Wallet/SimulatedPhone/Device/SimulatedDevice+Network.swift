package import DeviceInterface

/// Network conditions.
extension SimulatedDevice {
    /// Removes the first condition of the profile if it `applies`, and returns it; the removal is
    /// durable.
    ///
    /// Conditions apply in their order: a condition that waits for a certain call blocks those
    /// after it.
    package func takeCondition(
        where applies: (NetworkCondition) -> Bool
    ) throws(DeviceError) -> NetworkCondition? {
        try self.withState { (profile) throws(DeviceError) in
            guard let first = profile.conditions.first, applies(first) else { return nil }
            return profile.conditions.removeFirst()
        }
    }
}
