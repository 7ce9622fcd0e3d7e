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
