package import DeviceInterface
internal import Evidence
internal import Lab
package import Vocabulary

/// The device's secure hardware.
extension SimulatedDevice {
    package func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try self.withState { (profile) throws(DeviceError) in
            let authority: LabAuthority
            do throws(LabAuthorityError) {
                authority = try LabAuthority.load(from: self.authorityFolder)
            } catch {
                throw .attestationUnavailable
            }
            let request = AttestationRequest(
                profile: profile,
                challenge: profile.fault == .wrongChallenge ? sha256(challenge.bytes) : challenge,
                authority: authority,
                time: self.clock.now()
            )
            switch profile.platform {
            case .android:
                let (key, chain) = request.androidKey()
                try key.write(to: self.files.path(.hardwareKey))
                return .android(chain)
            case .iOS:
                guard profile.hasNetwork else { throw .attestationUnavailable }
                let (key, object, keyID) = request.appAttestKey()
                try key.write(to: self.files.path(.hardwareKey))
                return .apple(object: object, keyID: keyID)
            }
        }
    }

    package func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try self.withState { (profile) throws(DeviceError) in
            guard var key = try HardwareKey.read(self.files.path(.hardwareKey)) else { throw .noKey }
            switch profile.platform {
            case .android:
                return key.key.signature(for: statement).bytes
            case .iOS:
                if profile.fault != .counterReused || key.counter == 0 {
                    key.counter += 1
                    try key.write(to: self.files.path(.hardwareKey))
                }
                return key.assertion(for: sha256(statement), by: profile)
            }
        }
    }

    package func deleteKey() async throws(DeviceError) {
        try self.withState { (_) throws(DeviceError) in try self.files.remove(.hardwareKey) }
    }
}
