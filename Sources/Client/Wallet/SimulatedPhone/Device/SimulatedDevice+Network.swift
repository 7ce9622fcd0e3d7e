package import DeviceInterface

/// What the network does.
extension SimulatedDevice {
    /// Takes the first of the profile's conditions if it is one that `applies`; it is gone then, durably.
    ///
    /// Conditions are met in their order: one that waits for a certain call lets none behind it pass.
    package func takeCondition(
        where applies: (NetworkCondition) -> Bool
    ) throws(DeviceError) -> NetworkCondition? {
        try self.withState { (profile) throws(DeviceError) in
            guard let first = profile.conditions.first, applies(first) else { return nil }
            return profile.conditions.removeFirst()
        }
    }
}
