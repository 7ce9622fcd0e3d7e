internal import AttestationVerifier
internal import Metrics
internal import Synchronization
internal import Vocabulary
internal import Wire

/// Counts the calls made by wallets.
///
/// All series are created at start, so a call costs a lookup and an atomic addition and needs no lock.
final class CallMeters: Sendable {
    private let done: [Call.Kind?: Counter]
    private let refused: [Call.Kind?: [Refusal.Code: Counter]]
    private let evidence: [String: Counter]
    private let temporaryBlocks: Counter
    private let permanentBlocks: Counter
    let handshakes: Counter

    init(_ factory: any MetricsFactory) {
        func counter(_ kind: Call.Kind?, _ outcome: String) -> Counter {
            let dimensions = [("call", kind?.rawValue ?? "unknown"), ("outcome", outcome)]
            return Counter(
                label: "remote_pin_calls_total",
                dimensions: dimensions.map { ($0, $1.replacing("-", with: "_")) },
                factory: factory
            )
        }
        let kinds = Call.Kind.allCases.map(Optional.some) + [nil]
        self.done = Dictionary(uniqueKeysWithValues: kinds.map { ($0, counter($0, "done")) })
        let refused = kinds.map { kind in
            let counters = Refusal.Code.allCases.map { ($0, counter(kind, $0.rawValue)) }
            return (kind, Dictionary(uniqueKeysWithValues: counters))
        }
        self.refused = Dictionary(uniqueKeysWithValues: refused)
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
    ///
    /// - Parameter kind: Nil for a call unknown to this version.
    func note(_ kind: Call.Kind?) { self.done[kind]?.increment() }

    /// Counts a refused call.
    ///
    /// - Parameter kind: Nil for a frame that is not a call, or a call unknown to this version.
    func note(_ kind: Call.Kind?, _ failure: CallFailure) {
        self.refused[kind]?[failure.refusal.code]?.increment()
        if case .attestation(let reason) = failure { self.evidence[reason]?.increment() }
    }

    /// Counts a block caused by an attempt.
    func noteBlock(isPermanent: Bool) {
        (isPermanent ? self.permanentBlocks : self.temporaryBlocks).increment()
    }
}

/// Counts the verdicts on entered PINs since the start, for operators and metrics.
final class PINOutcomes: Sendable {
    private let valid = Atomic<Int>(0)
    private let wrong = Atomic<Int>(0)
    private let blocked = Atomic<Int>(0)
    private let permanentlyBlocked = Atomic<Int>(0)

    /// Counts a result if it is a verdict.
    func note(_ result: CallResult) {
        let verdict: InstructResult
        switch result {
        case .instruct(let result), .judged(let result, _): verdict = result
        default: return
        }
        switch verdict {
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode: self.valid.add(1, ordering: .relaxed)
        case .wrong: self.wrong.add(1, ordering: .relaxed)
        case .blocked: self.blocked.add(1, ordering: .relaxed)
        case .blockedPermanently: self.permanentlyBlocked.add(1, ordering: .relaxed)
        }
    }

    struct Counts {
        var valid: Int
        var wrong: Int
        /// The number of PINs not judged because of a temporary block.
        var blocked: Int
        /// The number of PINs not judged because of the permanent block.
        var permanentlyBlocked: Int
    }

    var counts: Counts {
        Counts(
            valid: self.valid.load(ordering: .relaxed),
            wrong: self.wrong.load(ordering: .relaxed),
            blocked: self.blocked.load(ordering: .relaxed),
            permanentlyBlocked: self.permanentlyBlocked.load(ordering: .relaxed)
        )
    }
}

/// Counts ended wallets by the party that ended them.
struct RevocationMeters: Sendable {
    private let counters: [Revocation.Reason: Counter]

    init(_ factory: any MetricsFactory) {
        self.counters = Revocation.Reason.allCases.reduce(into: [:]) { counters, reason in
            counters[reason] = Counter(
                label: "remote_pin_revocations_total",
                dimensions: [("kind", reason.rawValue.replacing("-", with: "_"))],
                factory: factory
            )
        }
    }

    /// Counts a committed incident.
    func note(_ incident: WalletIncident) {
        switch incident {
        case .revoked(_, let revocation): self.counters[revocation.reason]?.increment()
        case .solutionRevoked: self.counters[.solution]?.increment()
        case .blocked, .blockedPermanently, .solutionRestored: break
        }
    }
}
