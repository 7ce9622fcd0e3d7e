extension AttestationRefusal {
    /// What an operator can do about a phone that was refused for this reason, as one sentence.
    package var advice: String {
        switch self {
        case .tooManyCertificates, .evidenceTooLarge, .malformedCertificate, .malformedCBOR, .malformedAuthData,
            .malformedKeyDescription, .duplicateExtension, .unsupportedFormat:
            "No genuine device makes such evidence; look at how the client passes it on."
        case .incompleteChain: "Pass on the whole chain as the keystore returns it, leaf first."
        case .issuerMismatch, .badSignature, .unexpectedExtension, .issuerNotCA:
            "The chain was put together by somebody; treat it as an attempt to deceive."
        case .appNotConfigured: "Name the app in `android.apps` or `ios.apps`."
        case .untrustedRoot: "The device is not one of the vendor's, or an emulator; trust further roots only by file."
        case .certificateExpired, .certificateNotYetValid:
            "Compare the server's clock; otherwise the device has to fetch new attestation keys, which it does online."
        case .keyTypeNotAllowed: "The client must ask for a P-256 key."
        case .revoked, .suspended: "The vendor no longer vouches for the device; its owner needs another one."
        case .statusListStale: "Refresh the file of `android.status-list`."
        case .provisioningNotAllowed: "See `android.provisioning`."
        case .missingExtension: "The client must ask for an attestation (setAttestationChallenge)."
        case .challengeMismatch, .nonceMismatch:
            "The evidence was made for another enrollment, or the client does not pass SHA-256 of the token."
        case .securityLevelTooLow: "The device keeps keys in software or below `android.security-level`."
        case .rootOfTrustMissing: "The hardware does not state how the device was started; nothing helps."
        case .deviceUnlocked: "The owner has to lock the bootloader, which erases the device."
        case .verifiedBootState: "The system is not the maker's; see `android.boot-states`."
        case .keyOrigin, .keyPurpose, .keyDigest, .allApplications:
            "The client must make a new signing key for SHA-256 that belongs to the app."
        case .patchLevelTooOld, .vendorPatchLevelTooOld, .bootPatchLevelTooOld:
            "The owner has to install updates; see `android.patch-level` and its two sisters."
        case .packageMismatch, .signatureDigestMismatch, .rpIDMismatch:
            "This is another app, or another build of it than `android.apps` or `ios.apps` name."
        case .appVersionTooOld: "The owner has to update the app."
        case .keyIDMismatch, .credentialIDMismatch, .publicKeyMismatch:
            "Evidence and key do not belong together; look at how the client passes them on."
        case .counterNotZero: "The key has been used before; the client must make a new one."
        case .environmentMismatch: "A development build meets production, or the reverse; see `ios.environments`."
        case .counterNotIncreased: "An assertion was used twice; treat it as a replay."
        }
    }
}
