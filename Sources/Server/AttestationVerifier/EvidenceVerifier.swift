internal import Evidence
package import Vocabulary

/// The verification at registration: decides if the evidence is from a genuine app on genuine hardware, and for
/// which key.
///
/// A pure type without network, clock or store. Production and labs run the same code; only anchors and policy
/// differ.
package struct EvidenceVerifier: Sendable {
    package let policy: AttestationPolicy
    package let androidAnchors: [TrustAnchor]
    package let appleAnchors: [TrustAnchor]
    /// The only part that changes while a server runs.
    package var statusList: StatusList?

    package init(
        policy: AttestationPolicy,
        androidAnchors: [TrustAnchor] = TrustAnchor.google,
        appleAnchors: [TrustAnchor] = TrustAnchor.apple,
        statusList: StatusList? = nil
    ) {
        self.policy = policy
        self.androidAnchors = androidAnchors
        self.appleAnchors = appleAnchors
        self.statusList = statusList
    }

    /// Verifies an Android chain, leaf first.
    package func verify(
        android chain: [[UInt8]],
        challenge: SHA256Digest,
        at time: Timestamp
    ) -> Result<AttestedDevice, AttestationRefusal> {
        var verification = Verification()
        return self.verify(android: chain, challenge: challenge, at: time, verification: &verification)
    }

    /// Verifies as ``verify(android:challenge:at:)`` and records signature checks and passed checks.
    package func verify(
        android chain: [[UInt8]],
        challenge: SHA256Digest,
        at time: Timestamp,
        verification: inout Verification
    ) -> Result<AttestedDevice, AttestationRefusal> {
        let verifier = AndroidVerifier(
            policy: self.policy.android,
            anchors: self.androidAnchors,
            statusList: self.statusList
        )
        do throws(AttestationRefusal) {
            let attestation = try verifier.verify(
                chain: chain,
                challenge: challenge.bytes,
                at: time,
                verification: &verification
            )
            guard let device = AttestedDevice(attestation, at: time) else { throw .keyTypeNotAllowed }
            return .success(device)
        } catch {
            return .failure(error)
        }
    }

    /// Verifies an App Attest attestation object.
    package func verify(
        appleObject object: [UInt8],
        keyID: [UInt8],
        clientDataHash: SHA256Digest,
        at time: Timestamp
    ) -> Result<AttestedDevice, AttestationRefusal> {
        var verification = Verification()
        return self.verify(
            appleObject: object,
            keyID: keyID,
            clientDataHash: clientDataHash,
            at: time,
            verification: &verification
        )
    }

    /// Verifies as ``verify(appleObject:keyID:clientDataHash:at:)`` and records signature checks and passed checks.
    package func verify(
        appleObject object: [UInt8],
        keyID: [UInt8],
        clientDataHash: SHA256Digest,
        at time: Timestamp,
        verification: inout Verification
    ) -> Result<AttestedDevice, AttestationRefusal> {
        let verifier = AppleVerifier(policy: self.policy.apple, anchors: self.appleAnchors)
        do throws(AttestationRefusal) {
            let attestation = try verifier.verify(
                object: object,
                keyID: keyID,
                clientDataHash: clientDataHash.bytes,
                at: time,
                verification: &verification
            )
            return .success(AttestedDevice(attestation, at: time))
        } catch {
            return .failure(error)
        }
    }
}
