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
        switch platform {
        case .android: self.androidReason
        case .iOS: self.iOSReason
        }
    }

    private var androidReason: String? {
        switch self {
        case .wrongChallenge: "challenge_mismatch"
        case .otherApp: "package_mismatch"
        case .expired: "certificate_expired"
        case .notYetValid: "certificate_not_yet_valid"
        case .otherRoot: "untrusted_root"
        case .truncated: "malformed_certificate"
        case .brokenSignature: "bad_signature"
        case .missingCertificate: "issuer_mismatch"
        case .loneCertificate: "incomplete_chain"
        case .unlockedBootloader: "device_unlocked"
        case .selfSignedSystem: "verified_boot_state"
        case .noRootOfTrust: "root_of_trust_missing"
        case .softwareLevel: "security_level_too_low"
        case .otherSigner: "signature_digest_mismatch"
        case .oldApp: "app_version_too_old"
        case .oldPatchLevel: "patch_level_too_old"
        case .oldVendorPatchLevel: "vendor_patch_level_too_old"
        case .oldBootPatchLevel: "boot_patch_level_too_old"
        case .importedKey: "key_origin"
        case .wrongPurpose: "key_purpose"
        case .wrongDigest: "key_digest"
        case .allApplications: "all_applications"
        case .revokedSerial: "revoked"
        case .suspendedSerial: "suspended"
        case .forgedExtension: "unexpected_attestation_extension"
        case .missingExtension: "missing_attestation_extension"
        case .longChain: "too_many_certificates"
        case .largeEvidence: "evidence_too_large"
        case .wrongEnvironment, .counterNotZero, .wrongKeyID, .wrongCredentialID, .wrongCredentialKey,
            .unmarkedIssuer, .otherFormat, .noCredentialFlag, .counterReused:
            nil
        }
    }

    private var iOSReason: String? {
        switch self {
        case .wrongChallenge: "nonce_mismatch"
        case .otherApp: "rp_id_mismatch"
        case .expired: "certificate_expired"
        case .notYetValid: "certificate_not_yet_valid"
        case .otherRoot: "untrusted_root"
        case .missingCertificate: "issuer_mismatch"
        case .truncated: "malformed_cbor"
        case .brokenSignature: "bad_signature"
        case .loneCertificate: "incomplete_chain"
        case .longChain: "too_many_certificates"
        case .largeEvidence: "evidence_too_large"
        case .wrongEnvironment: "environment_mismatch"
        case .counterNotZero: "counter_not_zero"
        case .wrongKeyID: "key_id_mismatch"
        case .wrongCredentialID: "credential_id_mismatch"
        case .wrongCredentialKey: "public_key_mismatch"
        case .unmarkedIssuer: "issuer_not_ca"
        case .otherFormat: "unsupported_format"
        case .noCredentialFlag: "malformed_auth_data"
        case .counterReused: "counter_not_increased"
        case .unlockedBootloader, .selfSignedSystem, .noRootOfTrust, .softwareLevel, .otherSigner, .oldApp,
            .oldPatchLevel, .oldVendorPatchLevel, .oldBootPatchLevel, .importedKey, .wrongPurpose, .wrongDigest,
            .allApplications, .revokedSerial, .suspendedSerial, .forgedExtension, .missingExtension:
            nil
        }
    }
}
