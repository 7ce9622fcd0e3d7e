internal import AttestationVerifier
internal import Evidence
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

/// Logs extension data of App Attest that this version does not know.
///
/// A later iOS may write it at each session of each iPhone, so each kind is logged once per process. It is noted only
/// after the signature has been verified: a caller without an attested key cannot use up the only line.
final class ExtensionNotices: Sendable {
    private let log: Logger
    private let logged = Mutex<Set<AppAttestExtensions.Novelty>>([])

    init(log: Logger) {
        self.log = log
    }

    func note(_ extensions: AppAttestExtensions?) {
        guard let extensions, !extensions.novelties.isEmpty else { return }
        let news = self.logged.withLock { logged in
            defer { logged.formUnion(extensions.novelties) }
            return extensions.novelties.subtracting(logged)
        }
        for novelty in news.sorted(by: { $0.rawValue < $1.rawValue }) {
            self.log.notice(
                "skipped App Attest extension data of an unknown kind, which is logged once",
                metadata: ["kind": "\(novelty.rawValue)", "names": "\(Self.names(in: extensions))"]
            )
        }
    }

    /// Returns the first names of extensions, without characters that a log line must not contain.
    ///
    /// A device with a compromised system can write anything into them.
    private static func names(in extensions: AppAttestExtensions) -> String {
        let names = extensions.entries.prefix(8).map { entry in
            guard case .text(let text) = entry.key else { return "?" }
            let visible = text.unicodeScalars.prefix(40).map { (0x21...0x7E).contains($0.value) ? $0 : "?" }
            return String(String.UnicodeScalarView(visible))
        }
        return names.joined(separator: " ")
    }
}
