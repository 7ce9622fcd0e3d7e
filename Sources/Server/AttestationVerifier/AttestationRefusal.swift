/// A reason for rejecting evidence.
///
/// Replies and logs use the same name for it.
package enum AttestationRefusal: String, Error, Hashable, Sendable, CaseIterable {
    // Both platforms: the size of the evidence and the app.
    case tooManyCertificates = "too_many_certificates"
    case evidenceTooLarge = "evidence_too_large"
    /// The server does not accept any app for this platform.
    case appNotConfigured = "app_not_configured"

    // Both platforms: certificates.
    case malformedCertificate = "malformed_certificate"
    case incompleteChain = "incomplete_chain"
    case issuerMismatch = "issuer_mismatch"
    case badSignature = "bad_signature"
    case untrustedRoot = "untrusted_root"
    case certificateExpired = "certificate_expired"
    case certificateNotYetValid = "certificate_not_yet_valid"
    /// Apple: a certificate that signed another one is not marked as a CA.
    case issuerNotCA = "issuer_not_ca"
    case keyTypeNotAllowed = "key_type_not_allowed"
    case publicKeyMismatch = "public_key_mismatch"

    // Android: the chain.
    case revoked
    case suspended
    case statusListStale = "status_list_stale"
    case provisioningNotAllowed = "provisioning_not_allowed"
    case missingExtension = "missing_attestation_extension"
    case duplicateExtension = "duplicate_attestation_extension"
    case unexpectedExtension = "unexpected_attestation_extension"

    // Android: the key description.
    case malformedKeyDescription = "malformed_key_description"
    case challengeMismatch = "challenge_mismatch"
    case securityLevelTooLow = "security_level_too_low"
    case rootOfTrustMissing = "root_of_trust_missing"
    case deviceUnlocked = "device_unlocked"
    case verifiedBootState = "verified_boot_state"
    /// The system is self-signed, and its key is not configured.
    case verifiedBootKey = "verified_boot_key"
    case keyOrigin = "key_origin"
    case keyPurpose = "key_purpose"
    case keyDigest = "key_digest"
    case allApplications = "all_applications"
    case patchLevelTooOld = "patch_level_too_old"
    case vendorPatchLevelTooOld = "vendor_patch_level_too_old"
    case bootPatchLevelTooOld = "boot_patch_level_too_old"
    case packageMismatch = "package_mismatch"
    case signatureDigestMismatch = "signature_digest_mismatch"
    case appVersionTooOld = "app_version_too_old"

    // Apple.
    case malformedCBOR = "malformed_cbor"
    case unsupportedFormat = "unsupported_format"
    case nonceMismatch = "nonce_mismatch"
    case keyIDMismatch = "key_id_mismatch"
    case malformedAuthData = "malformed_auth_data"
    case rpIDMismatch = "rp_id_mismatch"
    case counterNotZero = "counter_not_zero"
    case environmentMismatch = "environment_mismatch"
    case credentialIDMismatch = "credential_id_mismatch"
    case validationCategory = "validation_category"
    case counterNotIncreased = "counter_not_increased"
}

/// Limits on the evidence, for both platforms.
package enum EvidenceLimits {
    /// The maximum number of certificates in a chain.
    ///
    /// The longest real chain has eight.
    package static let certificates = 10
    /// The maximum total size in bytes.
    ///
    /// The largest real evidence is 6.2 KB.
    package static let byteCount = 32 * 1024
    /// The maximum number of signatures checked in one verification.
    package static let signatureChecks = 12
}

extension AttestationRefusal {
    /// Advice for an operator whose server rejected a phone for this reason.
    package var advice: String {
        switch self {
        case .tooManyCertificates, .evidenceTooLarge, .malformedCertificate, .malformedCBOR, .malformedAuthData,
            .malformedKeyDescription, .duplicateExtension, .unsupportedFormat:
            "No genuine device produces such evidence; check how the client transmits it."
        case .incompleteChain: "Send the whole chain as the keystore returns it, leaf first."
        case .issuerMismatch, .badSignature, .unexpectedExtension, .issuerNotCA:
            "The chain was assembled from unrelated certificates; treat it as an attack."
        case .appNotConfigured: "Add the app to `android.apps` or `ios.apps`."
        case .untrustedRoot: "The device is an emulator or from an unknown vendor; add a root only from a trusted file."
        case .certificateExpired, .certificateNotYetValid:
            "Check the server's clock; if it is right, the device must go online to fetch new attestation keys."
        case .keyTypeNotAllowed: "The client must request a P-256 key."
        case .revoked, .suspended: "The vendor has withdrawn the device's attestation; the user needs another device."
        case .statusListStale: "Refresh the file of `android.status-list`."
        case .provisioningNotAllowed: "See `android.provisioning`."
        case .missingExtension: "The client must request an attestation (setAttestationChallenge)."
        case .challengeMismatch, .nonceMismatch:
            "The evidence is for another enrollment, or the client did not use SHA-256 of the token as the challenge."
        case .securityLevelTooLow: "The device keeps keys in software or below `android.security-level`."
        case .rootOfTrustMissing: "The hardware does not state the boot state; this device cannot register."
        case .deviceUnlocked: "The user must lock the bootloader, which erases the device."
        case .verifiedBootState: "The system is not the manufacturer's; see `android.boot-states`."
        case .verifiedBootKey: "Add the key to `android.boot-keys` if you trust the publisher of this system."
        case .keyOrigin, .keyPurpose, .keyDigest, .allApplications:
            "The client must create a new signing key for SHA-256 that belongs to the app."
        case .patchLevelTooOld, .vendorPatchLevelTooOld, .bootPatchLevelTooOld:
            "The user must install system updates. A phone that states no valid date cannot reach a minimum; see "
                + "`android.patch-level` and the vendor and boot patch levels."
        case .packageMismatch, .signatureDigestMismatch, .rpIDMismatch:
            "This is another app, or a build that does not match `android.apps` or `ios.apps`."
        case .appVersionTooOld:
            "The user must update the app; for iOS evidence without a version see `ios.missing-extensions`."
        case .keyIDMismatch, .credentialIDMismatch, .publicKeyMismatch:
            "The evidence does not match the key; check how the client transmits both."
        case .counterNotZero: "The key has been used before; the client must create a new one."
        case .environmentMismatch: "A development build met a production server or the reverse; see `ios.environments`."
        case .validationCategory:
            "The build came from elsewhere (see `ios.validation-categories`), or iOS is older than 27 (see "
                + "`ios.missing-extensions`)."
        case .counterNotIncreased: "An assertion was used twice; treat it as a replay."
        }
    }
}
