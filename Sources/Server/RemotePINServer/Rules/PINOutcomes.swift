internal import Synchronization
internal import Wire

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
