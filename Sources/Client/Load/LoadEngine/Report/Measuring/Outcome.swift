/// A unit of work requested from a server, which a run counts and times.
package enum Operation: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable, Comparable {
    /// Checking a PIN over an open session.
    case check
    /// Opening a new connection and session and checking a PIN.
    case unlock
    case changePIN = "change-pin"
    case register

    /// Orders the cases as declared, which is also their order in every report.
    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    /// The position among all cases.
    var rank: Int {
        switch self {
        case .check: 0
        case .unlock: 1
        case .changePIN: 2
        case .register: 3
        }
    }
}

package enum Outcome: Hashable, Sendable {
    /// The PIN was right.
    case valid
    case wrong
    /// Rejected without a check, because the wallet is temporarily blocked.
    case blocked
    /// Rejected without a check, because the wallet is permanently blocked.
    case blockedPermanently
    case changed, registered
    /// No verdict arrived.
    ///
    /// Reports group failures by this reason, for example `closed`, `timeout`, `connect:refused` or
    /// `refused:rate-limited`.
    case failed(String)

    /// No answer arrived within the timeout.
    static let timeout = Outcome.failed("timeout")
    /// No connection was established within the timeout.
    static let connectTimeout = Outcome.failed("connect:timeout")
    /// The run was interrupted while the operation was in flight.
    static let interrupted = Outcome.failed("interrupted")

    /// The verdicts, in the order used by every report.
    package static let answers: [Outcome] = [.valid, .wrong, .blocked, .blockedPermanently, .changed, .registered]

    /// Whether no verdict arrived.
    package var isFailure: Bool { if case .failed = self { true } else { false } }

    /// Whether the outcome is an error: any failure except an interruption of the run.
    var isError: Bool { self.isFailure && self != .interrupted }

    /// Whether the operation's time is included in the distribution.
    ///
    /// Answers, timeouts and interrupted operations are timed, because omitting the longest waits would flatter the
    /// server. A refused connection is only counted, because its short time would flatter the server too.
    var isTimed: Bool {
        !self.isFailure || self == .timeout || self == .connectTimeout || self == .interrupted
    }
}

extension Outcome: RawRepresentable, Codable, CodingKeyRepresentable {
    private static let failurePrefix = "failed:"

    /// The name used in every report, for example `blocked-permanently` or `failed:timeout`.
    package var rawValue: String {
        switch self {
        case .valid: "valid"
        case .wrong: "wrong"
        case .blocked: "blocked"
        case .blockedPermanently: "blocked-permanently"
        case .changed: "changed"
        case .registered: "registered"
        case .failed(let reason): Self.failurePrefix + reason
        }
    }

    /// Creates the outcome with this name; returns nil for any other name.
    package init?(rawValue: String) {
        if let answer = Self.answers.first(where: { $0.rawValue == rawValue }) {
            self = answer
        } else if rawValue.hasPrefix(Self.failurePrefix) {
            self = .failed(String(rawValue.dropFirst(Self.failurePrefix.count)))
        } else {
            return nil
        }
    }
}

extension Outcome: Comparable {
    /// Orders verdicts as in ``answers``, followed by failures sorted by reason.
    package static func < (left: Self, right: Self) -> Bool {
        switch (left.rank, right.rank) {
        case (nil, nil): left.rawValue < right.rawValue
        case (nil, _): false
        case (_, nil): true
        case (let left?, let right?): left < right
        }
    }

    /// The position in ``answers``, or nil for a failure.
    var rank: Int? {
        switch self {
        case .valid: 0
        case .wrong: 1
        case .blocked: 2
        case .blockedPermanently: 3
        case .changed: 4
        case .registered: 5
        case .failed: nil
        }
    }
}

extension Outcome {
    /// All failure reasons, used to detect a mistyped reason in a threshold.
    static let failureReasons =
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
