internal import DeviceInterface
package import Vocabulary

/// An issuer that behaves as specified in a device's profile.
package struct SimulatedIssuer: PIDIssuer {
    private let device: SimulatedDevice

    package init(for device: SimulatedDevice) {
        self.device = device
    }

    package func obtain() async -> RecoveryCode? {
        switch self.device.profile.issuer {
        case .obtains: try? self.device.recoveryCode()
        case .cancels, .fails: nil
        }
    }
}
