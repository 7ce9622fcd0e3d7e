package import Vocabulary

/// A defect in a simulated device's evidence.
///
/// Each fault represents an attack or a defect. The verifier must reject it for the reason returned by ``reason(on:)``.
package enum Fault: String, Hashable, Sendable, CaseIterable, Codable {
    case wrongChallenge = "wrong-challenge"
    case otherApp = "other-app"
    /// A certificate expired an hour ago.
    case expired
    /// A certificate becomes valid tomorrow.
    case notYetValid = "not-yet-valid"
    /// The chain ends at an unknown root.
    case otherRoot = "other-root"
    /// The last byte of the evidence is missing.
    case truncated
    /// One of the certificates is not signed by its issuer.
    case brokenSignature = "broken-signature"
    case missingCertificate = "missing-certificate"
    /// The chain only consists of a single certificate.
    case loneCertificate = "lone-certificate"

    case unlockedBootloader = "unlocked-bootloader"
    /// The operating system is signed with the user's own key.
    case selfSignedSystem = "self-signed-system"
    /// The hardware does not report how the system was booted.
    case noRootOfTrust = "no-root-of-trust"
    case softwareLevel = "software-level"
    /// The app was signed by someone else.
    case otherSigner = "other-signer"
    /// The app's version is 1.
    case oldApp = "old-app"
    /// The system's patch level is January 2019.
    case oldPatchLevel = "old-patch-level"
    /// The vendor's patch level is January 2019.
    case oldVendorPatchLevel = "old-vendor-patch-level"
    /// The boot image's patch level is January 2019.
    case oldBootPatchLevel = "old-boot-patch-level"
    case importedKey = "imported-key"
    /// The key is not authorized for signing.
    case wrongPurpose = "wrong-purpose"
    /// The key is not authorized to sign SHA-256 digests.
    case wrongDigest = "wrong-digest"
    /// The key may be used by every app.
    case allApplications = "all-applications"
    /// The serial number of the batch key's certificate is on the status list as revoked.
    case revokedSerial = "revoked-serial"
    /// The serial number of the batch key's certificate is on the status list as suspended.
    case suspendedSerial = "suspended-serial"
    /// The attested key has signed another certificate, which contains favorable claims.
    case forgedExtension = "forged-extension"
    /// The leaf has no key description.
    case missingExtension = "missing-extension"
    /// The chain has more certificates than the verifier allows.
    case longChain = "long-chain"
    /// The chain is larger than the verifier allows.
    case largeEvidence = "large-evidence"

    /// The key was attested by an App Attest environment that the server is not configured for.
    case wrongEnvironment = "wrong-environment"
    /// The counter shows that the key has been used for signing before.
    case counterNotZero = "counter-not-zero"
    /// The given key id belongs to a different key.
    case wrongKeyID = "wrong-key-id"
    /// The id in the evidence belongs to a different key.
    case wrongCredentialID = "wrong-credential-id"
    /// The key in the evidence is not the certified key.
    case wrongCredentialKey = "wrong-credential-key"
    /// The certificate that signed the leaf is not marked as an authority.
    case unmarkedIssuer = "unmarked-issuer"
    /// The attestation object's `fmt` is not `apple-appattest`.
    case otherFormat = "other-format"
    /// The authenticator data lacks the AT flag (attested credential data included).
    case noCredentialFlag = "no-credential-flag"
    /// Assertions repeat the previous counter.
    case counterReused = "counter-reused"

    /// Returns the verifier's reason for rejecting the fault, or nil if the fault does not exist on the platform.
    package func reason(on platform: Platform) -> String? {
        let (android, iOS) = self.reasons
        return platform == .android ? android : iOS
    }

    private var reasons: (android: String?, iOS: String?) {
        switch self {
        case .wrongChallenge: ("challenge_mismatch", "nonce_mismatch")
        case .otherApp: ("package_mismatch", "rp_id_mismatch")
        case .expired: ("certificate_expired", "certificate_expired")
        case .notYetValid: ("certificate_not_yet_valid", "certificate_not_yet_valid")
        case .otherRoot: ("untrusted_root", "untrusted_root")
        case .truncated: ("malformed_certificate", "malformed_cbor")
        case .brokenSignature: ("bad_signature", "bad_signature")
        case .missingCertificate: ("issuer_mismatch", "issuer_mismatch")
        case .loneCertificate: ("incomplete_chain", "incomplete_chain")
        case .unlockedBootloader: ("device_unlocked", nil)
        case .selfSignedSystem: ("verified_boot_state", nil)
        case .noRootOfTrust: ("root_of_trust_missing", nil)
        case .softwareLevel: ("security_level_too_low", nil)
        case .otherSigner: ("signature_digest_mismatch", nil)
        case .oldApp: ("app_version_too_old", nil)
        case .oldPatchLevel: ("patch_level_too_old", nil)
        case .oldVendorPatchLevel: ("vendor_patch_level_too_old", nil)
        case .oldBootPatchLevel: ("boot_patch_level_too_old", nil)
        case .importedKey: ("key_origin", nil)
        case .wrongPurpose: ("key_purpose", nil)
        case .wrongDigest: ("key_digest", nil)
        case .allApplications: ("all_applications", nil)
        case .revokedSerial: ("revoked", nil)
        case .suspendedSerial: ("suspended", nil)
        case .forgedExtension: ("unexpected_attestation_extension", nil)
        case .missingExtension: ("missing_attestation_extension", nil)
        case .longChain: ("too_many_certificates", "too_many_certificates")
        case .largeEvidence: ("evidence_too_large", "evidence_too_large")
        case .wrongEnvironment: (nil, "environment_mismatch")
        case .counterNotZero: (nil, "counter_not_zero")
        case .wrongKeyID: (nil, "key_id_mismatch")
        case .wrongCredentialID: (nil, "credential_id_mismatch")
        case .wrongCredentialKey: (nil, "public_key_mismatch")
        case .unmarkedIssuer: (nil, "issuer_not_ca")
        case .otherFormat: (nil, "unsupported_format")
        case .noCredentialFlag: (nil, "malformed_auth_data")
        case .counterReused: (nil, "counter_not_increased")
        }
    }
}
