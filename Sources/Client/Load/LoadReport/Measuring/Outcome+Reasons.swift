extension Outcome {
    /// All failure reasons, used to detect a mistyped reason in a threshold.
    package static let failureReasons =
        [
            "no-route", "refused", "timeout", "untrusted", "wrong-name", "no-common-protocol", "tls-alert", "closed",
            "tls-broken",
        ].map { "connect:" + $0 }
        + ["closed", "timeout", "malformed-answer", "interrupted"]
        + [
            "malformed", "unsupported", "session-required", "authentication-failed", "out-of-order",
            "challenge-invalid",
            "attestation-rejected", "not-allowed", "revoked", "pin-key-changed", "rate-limited", "unavailable",
            "internal",
        ].map { "refused:" + $0 }
        + ["revoked", "false-share", "strange-pin-key", "unexpected-answer", "wallets-file"]
}
