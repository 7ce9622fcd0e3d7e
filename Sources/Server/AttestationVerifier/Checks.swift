// Every check by the name that operators read, in the order in which the verifiers make them.

extension AndroidVerifier {
    /// The checks of a key attestation; the first one that is not passed decides the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "every certificate can be read, within the limits"
        case anchor = "there are at least two certificates, each naming the next, and the last is a trusted root"
        case links = "each certificate is signed by the next"
        case validity = "the certificates are valid at this time"
        case status = "no certificate is revoked or suspended, and the status list is recent enough"
        case provisioning = "the attestation key came to the device in an accepted way"
        case place = "the leaf and no other certificate carries a key description"
        case challenge = "the challenge is the one that was given"
        case level = "a key of an accepted kind lives in hardware of the demanded level"
        case boot = "the device is locked and its system verified"
        case key = "the key was made there and may do what is asked of it"
        case patches = "the patch levels are recent enough"
        case app = "the app is a configured one"
    }
}

extension AppleVerifier {
    /// The checks of an attestation object; the first one that is not passed decides the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "the object and its certificates can be read, within the limits"
        case anchor = "the chain leads to a trusted root"
        case validity = "the certificates are valid at this time"
        case nonce = "the nonce is the one that follows from the challenge"
        case keyID = "the key id is the key's"
        case app = "the app is a configured one"
        case counter = "the key has not signed before"
        case environment = "the environment is an accepted one"
        case credential = "the credential and its key are the certified ones"
    }
}

extension AssertionVerifier {
    /// The checks of an assertion; the first one that is not passed decides the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "the assertion can be read"
        case signature = "the signature is the key's, over this statement"
        case app = "the app is the registered one"
        case counter = "the counter is greater than the last one"
    }
}
