internal import AttestationVerifier
internal import Metrics
internal import Wire

/// Counts the calls made by wallets.
///
/// All series are created at start and found by index, so a call costs one atomic addition and needs no lock or lookup.
final class CallMeters: Sendable {
    /// The counters, sorted by kind and then by outcome.
    private let calls: [Counter]
    private let evidence: [String: Counter]
    private let temporaryBlocks: Counter
    private let permanentBlocks: Counter
    let handshakes: Counter

    init(_ factory: any MetricsFactory) {
        var calls: [Counter] = []
        for kind in CallKind.allCases {
            for outcome in CallOutcome.allCases {
                let dimensions = [("call", kind.label), ("outcome", outcome.label)]
                calls.append(Counter(label: "remote_pin_calls_total", dimensions: dimensions, factory: factory))
            }
        }
        self.calls = calls
        self.evidence = AttestationRefusal.allCases.reduce(into: [:]) { counters, reason in
            counters[reason.rawValue] = Counter(
                label: "remote_pin_attestation_refusals_total",
                dimensions: [("reason", reason.rawValue)],
                factory: factory
            )
        }
        func blocks(_ kind: String) -> Counter {
            Counter(label: "remote_pin_blocks_total", dimensions: [("kind", kind)], factory: factory)
        }
        self.temporaryBlocks = blocks("temporary")
        self.permanentBlocks = blocks("permanent")
        self.handshakes = Counter(label: "remote_pin_handshakes_total", factory: factory)
    }

    /// Counts an answered call.
    func note(_ kind: CallKind, _ outcome: CallOutcome) {
        self.calls[kind.rawValue * CallOutcome.allCases.count + outcome.rawValue].increment()
    }

    /// Counts a refused call.
    func note(_ kind: CallKind, _ failure: CallFailure) {
        self.note(kind, CallOutcome(failure.refusal))
        if case .attestation(let reason) = failure { self.evidence[reason]?.increment() }
    }

    /// Counts a block caused by an attempt.
    func noteBlock(isPermanent: Bool) {
        (isPermanent ? self.permanentBlocks : self.temporaryBlocks).increment()
    }
}

/// The kinds of calls distinguished in metrics.
enum CallKind: Int, CaseIterable {
    case hello
    case beginEnrollment
    case register
    case openSession
    case instruct
    case revokeWithCode
    case reportWipe
    case confirmShares
    /// A frame that is not a call, or a call unknown to this version.
    case unknown

    init(_ call: Call) {
        switch call {
        case .hello: self = .hello
        case .beginEnrollment: self = .beginEnrollment
        case .register: self = .register
        case .openSession: self = .openSession
        case .instruct: self = .instruct
        case .revokeWithCode: self = .revokeWithCode
        case .reportWipe: self = .reportWipe
        case .confirmShares: self = .confirmShares
        case .unknown: self = .unknown
        }
    }

    var label: String {
        switch self {
        case .hello: "hello"
        case .beginEnrollment: "begin_enrollment"
        case .register: "register"
        case .openSession: "open_session"
        case .instruct: "instruct"
        case .revokeWithCode: "revoke_with_code"
        case .reportWipe: "report_wipe"
        case .confirmShares: "confirm_shares"
        case .unknown: "unknown"
        }
    }
}

/// The outcome of a call: `done`, or an error code from docs/protocol.md.
enum CallOutcome: Int, CaseIterable {
    case done
    case malformed
    case unsupported
    case sessionRequired
    case authenticationFailed
    case outOfOrder
    case challengeInvalid
    case attestationRejected
    case notAllowed
    case revoked
    case pinKeyChanged
    case rateLimited
    case unavailable
    case `internal`

    init(_ reason: Refusal.Reason) {
        switch reason {
        case .malformed: self = .malformed
        case .unsupported: self = .unsupported
        case .sessionRequired: self = .sessionRequired
        case .authenticationFailed: self = .authenticationFailed
        case .outOfOrder: self = .outOfOrder
        case .challengeInvalid: self = .challengeInvalid
        case .attestationRejected: self = .attestationRejected
        case .notAllowed: self = .notAllowed
        case .revoked: self = .revoked
        case .pinKeyChanged: self = .pinKeyChanged
        case .rateLimited: self = .rateLimited
        case .unavailable: self = .unavailable
        case .internal: self = .internal
        }
    }

    var label: String {
        switch self {
        case .done: "done"
        case .malformed: "malformed"
        case .unsupported: "unsupported"
        case .sessionRequired: "session_required"
        case .authenticationFailed: "authentication_failed"
        case .outOfOrder: "out_of_order"
        case .challengeInvalid: "challenge_invalid"
        case .attestationRejected: "attestation_rejected"
        case .notAllowed: "not_allowed"
        case .revoked: "revoked"
        case .pinKeyChanged: "pin_key_changed"
        case .rateLimited: "rate_limited"
        case .unavailable: "unavailable"
        case .internal: "internal"
        }
    }
}
