internal import LoadReport
internal import Synchronization

/// The result of a burst.
struct BurstResult: Sendable {
    /// Whether the server accepted the right guess.
    var isRightIn = false
    /// The number of judged guesses, including the right one.
    ///
    /// If responses are missing, this is a lower bound.
    var judged = 0
    /// The number of guesses without a verdict.
    var failed = 0
    /// Whether the right guess has no verdict, so it is unknown whether it was accepted.
    var isRightUnknown = false
    /// The time between the first connection's write and the last connection's write.
    var spread = Duration.zero
    /// The number of connections that wrote before the first response arrived.
    var wroteBeforeAnswer = 0
    /// The number of connections that wrote.
    var wrote = 0
}

/// Counts the responses to a burst.
final class BurstTally: Sendable {
    private struct State {
        var result = BurstResult()
        var start = Duration.zero
        var firstWrite: Duration?
        var hasAnswer = false
    }

    private let state = Mutex(State())

    /// The time of the release.
    var start: Duration { self.state.withLock(\.start) }
    var result: BurstResult { self.state.withLock(\.result) }

    func begin(at time: Duration) { self.state.withLock { $0.start = time } }

    func wrote(at time: Duration) {
        self.state.withLock { state in
            let first = state.firstWrite ?? time
            state.firstWrite = min(first, time)
            state.result.spread = max(state.result.spread, time - first)
            state.result.wrote += 1
            if !state.hasAnswer { state.result.wroteBeforeAnswer += 1 }
        }
    }

    func answered(_ outcome: Outcome, isRight: Bool, at time: Duration) {
        self.state.withLock { state in
            state.hasAnswer = true
            switch outcome {
            case .valid:
                state.result.judged += 1
                if isRight { state.result.isRightIn = true }
            case .wrong: state.result.judged += 1
            case .blocked, .blockedPermanently: break
            case .changed, .registered, .failed:
                state.result.failed += 1
                if isRight { state.result.isRightUnknown = true }
            }
        }
    }
}
