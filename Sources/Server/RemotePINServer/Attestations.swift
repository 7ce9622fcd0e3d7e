internal import AttestationVerifier
internal import Logging
internal import Synchronization
internal import Vocabulary

/// The verifier of registrations, whose status list follows its file while the server runs.
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

    /// Whether there is a list that can be read again.
    var hasFile: Bool { self.file != nil }

    /// When the present list was fetched, and whether it is too old to count.
    func age(at now: Timestamp) -> (fetched: Timestamp?, isStale: Bool) {
        self.state.withLock { state in
            let list = state.verifier.statusList
            return (list?.fetched, state.verifier.policy.android.statusList.isStale(list, at: now))
        }
    }

    /// When the present list was fetched, and from when on it is stale; nil where there is none, or its age does not matter.
    var statusListTimes: (fetched: Timestamp?, expiry: Timestamp?) {
        self.state.withLock { state in
            let fetched = state.verifier.statusList?.fetched
            let age = state.verifier.policy.android.statusList.maximumAge
            return (fetched, fetched.flatMap { fetched in age.map { fetched + $0 } })
        }
    }

    /// The verifier with the present list.
    var verifier: EvidenceVerifier { self.state.withLock(\.verifier) }

    /// Takes a changed list over, keeps the old one where the new one cannot be read, and says once when it is stale.
    ///
    /// - Parameter forced: Reads the file also where it has not changed.
    /// - Returns: why the old list stays, where it does.
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
        self.watchAge(at: now, log: log)
        return refused
    }

    private func watchAge(at now: Timestamp, log: Logger) {
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
