internal import Lab
internal import Vocabulary

/// The information needed to create a simulated device's evidence.
struct AttestationRequest: Sendable {
    let profile: DeviceProfile
    let challenge: SHA256Digest
    let authority: LabAuthority
    let time: Timestamp

    var fault: Fault? { self.profile.fault }

    /// Applies the faults that exist on both platforms to a chain.
    func damaged(_ chain: [[UInt8]]) -> [[UInt8]] {
        var chain = chain
        switch self.fault {
        case .brokenSignature: chain[0][chain[0].count - 1] ^= 1
        case .loneCertificate: chain = [chain[0]]
        case .largeEvidence: chain[0] += Array(repeating: 0, count: 33_000)
        default: break
        }
        return chain
    }
}
