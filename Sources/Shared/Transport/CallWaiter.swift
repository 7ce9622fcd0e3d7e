internal import Synchronization

/// A task or group that is waiting for the answer to a call.
enum CallWaiter<Answer: Sendable>: Sendable {
    case alone(CheckedContinuation<Result<Answer, CallError>, Never>)
    /// The call was sent together with others.
    case together(CallGroup<Answer>, place: Int)

    func resume(returning result: Result<Answer, CallError>) {
        switch self {
        case .alone(let continuation): continuation.resume(returning: result)
        case .together(let group, let place): group.fill(place, with: result)
        }
    }
}

/// Collects the answers to calls that were sent together until all of them have arrived.
final class CallGroup<Answer: Sendable>: Sendable {
    typealias Results = [Result<Answer, CallError>]

    private struct State {
        var results: [Result<Answer, CallError>?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let continuation: CheckedContinuation<Results, Never>

    init(count: Int, _ continuation: CheckedContinuation<Results, Never>) {
        self.state = Mutex(State(results: Array(repeating: nil, count: count), missing: count))
        self.continuation = continuation
    }

    /// Stores the answer to the call at `place`.
    ///
    /// Each place may only be filled once.
    func fill(_ place: Int, with result: Result<Answer, CallError>) {
        let all: Results? = self.state.withLock { state in
            state.results[place] = result
            state.missing -= 1
            return state.missing == 0 ? state.results.compactMap { $0 } : nil
        }
        if let all { self.continuation.resume(returning: all) }
    }
}
