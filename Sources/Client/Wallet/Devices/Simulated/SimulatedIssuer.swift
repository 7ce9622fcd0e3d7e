public import Vocabulary

/// The issuer of identities as a device's profile has it.
public struct SimulatedIssuer: PIDIssuer {
    private let device: SimulatedDevice

    public init(for device: SimulatedDevice) {
        self.device = device
    }

    public func obtain() async -> RecoveryCode? {
        switch self.device.profile.issuer {
        case .obtains: try? self.device.recoveryCode()
        case .cancels, .fails: nil
        }
    }
}
