// The checks, with names that operators can read, in the order the verifiers run them.

extension AndroidVerifier {
    /// The checks of a key attestation.
    ///
    /// The first one that fails determines the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "every certificate can be read, within the limits"
        case anchor = "at least two certificates, each naming the next as issuer, end at a trusted root"
        case links = "each certificate is signed by the next"
        case validity = "the certificates are valid at this time"
        case status = "no certificate is revoked or suspended, and the status list is recent enough"
        case provisioning = "the device got its attestation key in an accepted way"
        case place = "the leaf and no other certificate carries a key description"
        case challenge = "the challenge is the expected one"
        case level = "a key of an accepted kind is kept in hardware of the required level"
        case boot = "the device is locked and its system verified"
        case key = "the key was generated in the hardware and has the required properties"
        case patches = "the patch levels are recent enough"
        case app = "the app is configured"
    }
}

extension AppleVerifier {
    /// The checks of an attestation object.
    ///
    /// The first one that fails determines the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "the object and its certificates can be read, within the limits"
        case anchor = "the chain leads to a trusted root"
        case validity = "the certificates are valid at this time"
        case nonce = "the nonce is derived from the challenge"
        case keyID = "the key id is the hash of the key"
        case app = "the app is configured"
        case counter = "the key has not signed before"
        case environment = "the environment is accepted"
        case credential = "the credential id and its key are the certified ones"
        case category = "the app was signed and distributed in an accepted way"
        case version = "the app is recent enough"
    }
}

extension AssertionVerifier {
    /// The checks of an assertion.
    ///
    /// The first one that fails determines the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "the assertion can be read"
        case signature = "the registered key signed this statement"
        case app = "the app is the registered one"
        case counter = "the counter is greater than the last one"
    }
}
