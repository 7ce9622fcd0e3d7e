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
