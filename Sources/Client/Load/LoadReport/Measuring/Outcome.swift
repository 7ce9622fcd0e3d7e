/// How one operation ended.
package enum Outcome: Hashable, Sendable {
    /// The PIN was right.
    case valid
    /// The PIN was wrong.
    case wrong
    /// Refused without being judged, for a while.
    case blocked
    /// Refused without being judged, for good.
    case blockedPermanently
    /// The PIN was changed.
    case changed
    /// The wallet was registered.
    case registered
    /// No verdict came.
    ///
    /// The reason is a stable word or two with colons between them, `refused:rate-limited`, `connect:refused`, `closed`, ``timeout``:
    /// it is what reports group by.
    case failed(String)

    /// Nothing was answered within the run's limit of time.
    package static let timeout = Outcome.failed("timeout")
    /// No connection came about within it.
    package static let connectTimeout = Outcome.failed("connect:timeout")
    /// The run was ended early while it waited for its answer.
    package static let interrupted = Outcome.failed("interrupted")

    /// Those that are answers, in the order of every report.
    package static let answers: [Outcome] = [.valid, .wrong, .blocked, .blockedPermanently, .changed, .registered]

    /// Whether no verdict came.
    package var isFailure: Bool { if case .failed = self { true } else { false } }

    /// Whether it counts as an error: no verdict came, and not because the run was ended.
    package var isError: Bool { self.isFailure && self != .interrupted }

    /// Whether its time belongs into the distribution.
    ///
    /// An answer's does, and a timeout's, and so does the time that was waited in vain until the run was ended: leaving out what took
    /// longest would flatter the server. A connection that was refused at once says nothing about how fast checks are, and would flatter
    /// it too; such failures are counted, and a threshold on `errors` sees them.
    package var isTimed: Bool {
        !self.isFailure || self == .timeout || self == .connectTimeout || self == .interrupted
    }
}

extension Outcome: RawRepresentable, Codable, CodingKeyRepresentable {
    private static let failurePrefix = "failed:"

    /// The name in every report: `valid`, `blocked-permanently`, `failed:timeout`.
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

    /// Nil for a word that names no outcome.
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
    /// Answers in the order of ``answers``, then failures by their reason.
    package static func < (left: Self, right: Self) -> Bool {
        switch (left.rank, right.rank) {
        case (nil, nil): left.rawValue < right.rawValue
        case (nil, _): false
        case (_, nil): true
        case (let left?, let right?): left < right
        }
    }

    /// The place in ``answers``; nil for a failure.
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
