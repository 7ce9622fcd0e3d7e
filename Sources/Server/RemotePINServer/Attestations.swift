internal import AttestationVerifier
internal import Logging
internal import Synchronization
internal import Vocabulary

/// Verifies registrations.
///
/// The status list is reloaded from its file while the server is running.
final class Attestations: Sendable {
    private struct State {
        var verifier: EvidenceVerifier
        var hasWarned = false
    }

    private let file: StatusListFile?
    private let state: Mutex<State>

    init(_ verifier: EvidenceVerifier, statusList file: StatusListFile?) {
        var verifier = verifier
        if let file { verifier.statusList = file.current }
        self.file = file
        self.state = Mutex(State(verifier: verifier))
    }

    /// Whether the status list comes from a file that can be reloaded.
    var hasFile: Bool { self.file != nil }

    /// Returns the time at which the current list was fetched, and whether it is stale.
    func age(at now: Timestamp) -> (fetched: Timestamp?, isStale: Bool) {
        self.state.withLock { state in
            let list = state.verifier.statusList
            return (list?.fetched, state.verifier.policy.android.statusList.isStale(list, at: now))
        }
    }

    /// The time at which the current list was fetched, and the time at which it becomes stale.
    ///
    /// Both are nil if no list is in use. The second is also nil if no maximum age is set. 
    var statusListTimes: (fetched: Timestamp?, expiry: Timestamp?) {
        self.state.withLock { state in
            let fetched = state.verifier.statusList?.fetched
            let age = state.verifier.policy.android.statusList.maximumAge
            return (fetched, fetched.flatMap { fetched in age.map { fetched + $0 } })
        }
    }

    /// The verifier with the current list.
    var verifier: EvidenceVerifier { self.state.withLock(\.verifier) }

    /// Loads the list if it has changed.
    ///
    /// Keeps the old list if the new one is unreadable. Logs once that the list is stale.
    ///
    /// - Parameter forced: Whether to read the file even if it has not changed.
    /// - Returns: The reason the old list is kept, if it is.
    @discardableResult
    func refresh(at now: Timestamp, forced: Bool = false, log: Logger) -> StatusListProblem? {
        var refused: StatusListProblem?
        switch self.file?.refresh(forced: forced) {
        case nil, .unchanged: break
        case .loaded(let list):
            self.state.withLock { $0.verifier.statusList = list }
            log.notice("status list loaded", metadata: ["entries": "\(list.count)"])
        case .refused(let problem):
            log.error("the old status list stays", metadata: ["reason": "\(problem)"])
            refused = problem
        }
        self.logAge(at: now, log: log)
        return refused
    }

    private func logAge(at now: Timestamp, log: Logger) {
        let (policy, list, isNews) = self.state.withLock { state in
            let (policy, list) = (state.verifier.policy.android.statusList, state.verifier.statusList)
            let isStale = policy.isStale(list, at: now)
            defer { state.hasWarned = isStale }
            return (policy, list, isStale != state.hasWarned)
        }
        guard isNews, policy.isStale(list, at: now) else { return }
        let consequence = policy.acceptsStale ? "registrations go on" : "Android registrations are refused"
        log.warning(
            "the status list is stale",
            metadata: [
                "fetched": "\(list.map { "\((now - $0.fetched).components.seconds / 3600) h ago" } ?? "never")",
                "consequence": "\(consequence)",
            ]
        )
    }
}
