internal import AttestationVerifier
internal import Metrics
internal import Wire

/// Counts the calls made by wallets.
///
/// All series are created at start, and those of answered calls are found by index, so such a call costs one atomic
/// addition and needs no lock or lookup.
final class CallMeters: Sendable {
    /// The counters of answered calls, in the order of ``CallKind``.
    private let done: [Counter]
    /// The counters of refused calls, in the order of ``CallKind``.
    private let refused: [[Refusal.Code: Counter]]
    private let evidence: [String: Counter]
    private let temporaryBlocks: Counter
    private let permanentBlocks: Counter
    let handshakes: Counter

    init(_ factory: any MetricsFactory) {
        func counter(_ kind: CallKind, _ outcome: String) -> Counter {
            let dimensions = [("call", kind.label), ("outcome", outcome)]
            return Counter(label: "remote_pin_calls_total", dimensions: dimensions, factory: factory)
        }
        self.done = CallKind.allCases.map { counter($0, "done") }
        self.refused = CallKind.allCases.map { kind in
            let counters = Refusal.Code.allCases.map { ($0, counter(kind, $0.rawValue.replacing("-", with: "_"))) }
            return Dictionary(uniqueKeysWithValues: counters)
        }
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
    func note(_ kind: CallKind) { self.done[kind.rawValue].increment() }

    /// Counts a refused call.
    func note(_ kind: CallKind, _ failure: CallFailure) {
        self.refused[kind.rawValue][failure.refusal.code]?.increment()
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
