internal import Evidence
package import Vocabulary

/// Verifies the evidence at registration: whether it comes from a genuine app on genuine hardware, and for which key.
///
/// This is a pure type with no access to the network, a clock or a store. Production servers and labs run the same code
/// with different anchors and policies.
package struct EvidenceVerifier: Sendable {
    package let policy: AttestationPolicy
    package let androidAnchors: [TrustAnchor]
    package let appleAnchors: [TrustAnchor]
    /// The list of revoked certificates.
    ///
    /// This is the only property that changes while a server is running.
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

    /// Verifies an Android chain that starts with the leaf.
    package func verify(
        android chain: [[UInt8]],
        challenge: SHA256Digest,
        at time: Timestamp
    ) -> Result<AttestedDevice, AttestationRefusal> {
        var verification = Verification()
        return self.verify(android: chain, challenge: challenge, at: time, verification: &verification)
    }

    /// Like ``verify(android:challenge:at:)``, but also records the signature checks and the checks that passed.
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

    /// Like ``verify(appleObject:keyID:clientDataHash:at:)``, but also records the signature checks and the checks that
    /// passed.
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
