internal import HistoryChecker
internal import Vocabulary

/// The last events of a wallet as text, for reporting a violation.
struct WalletTranscript: Sendable {
    private var lines: [String] = []

    /// The maximum number of lines.
    ///
    /// It allows for about thirty operations.
    private static let limit = 60

    mutating func sent(_ id: Int, _ operation: WalletOperation, repeating first: Int?, at now: Timestamp) {
        let again = first.map { ", repeating \($0)" } ?? ""
        self.append("\(id) sent: \(operation.text)\(again)", at: now)
    }

    mutating func answered(_ id: Int, _ response: WalletResponse, at now: Timestamp) {
        self.append("\(id) answered: \(response.text)", at: now)
    }

    mutating func lost(_ id: Int, at now: Timestamp) { self.append("\(id) got no answer", at: now) }

    mutating func revoked(at now: Timestamp) { self.append("revocation returned", at: now) }

    private mutating func append(_ text: String, at now: Timestamp) {
        if self.lines.count == Self.limit { self.lines.removeFirst() }
        self.lines.append("\(now.milliseconds) \(text)")
    }

    /// The events in order, each with its time in ms since 1970.
    var rows: [(time: String, event: String)] {
        self.lines.map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            return (String(parts[0]), String(parts[1]))
        }
    }
}

extension WalletOperation {
    fileprivate var text: String {
        switch self {
        case .check(let isRight, let generation): "check of a \(isRight ? "right" : "wrong") PIN for key \(generation)"
        case .change(let isRight, let generation, let next):
            "change with a \(isRight ? "right" : "wrong") PIN from key \(generation) to \(next)"
        case .opening: "session"
        }
    }
}

extension WalletResponse {
    fileprivate var text: String {
        switch self {
        case .verdict(let verdict, let place):
            "\(verdict.text), "
                + (place.map { "number \($0.number)\($0.isJudged ? "" : " (not judged)"), epoch \($0.epoch)" }
                    ?? "no receipt")
        case .validWithForeignShare: "valid, with a share that is not this wallet's"
        case .opened(let state, let generation): "session: \(state.text), key \(generation)"
        case .pinKeyChanged(let current): "another PIN key: \(current.map { "\($0)" } ?? "unknown")"
        case .refused: "refused without judging"
        case .revoked: "revoked"
        }
    }
}

extension PINVerdict {
    fileprivate var text: String {
        switch self {
        case .valid: "valid"
        case .wrong(let state): "wrong, \(state.text)"
        case .blocked(let remaining): "blocked for \(remaining.milliseconds) ms"
        case .blockedPermanently: "blocked permanently"
        }
    }
}
