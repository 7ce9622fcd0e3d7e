package import DeviceInterface

extension SimulatedDevice {
    /// Durably removes and returns the profile's first condition if `applies` returns true for it.
    ///
    /// Conditions form a queue. A condition that is waiting for a specific call blocks those behind it.
    package func takeCondition(
        where applies: (NetworkCondition) -> Bool
    ) throws(DeviceError) -> NetworkCondition? {
        try self.withState { (profile) throws(DeviceError) in
            guard let first = profile.conditions.first, applies(first) else { return nil }
            return profile.conditions.removeFirst()
        }
    }
}
