internal import PINPolicy
internal import PlayedCounterexamples
internal import Vocabulary
internal import WalletStore

/// A breadth-first search of all states within bounds; the first violation thus has a shortest trace.
final class Exploration {
    /// The result of a search.
    struct Report {
        var states = 0
        var transitions = 0
        var depth = 0
        var violation: String?
        /// Whether a lab shows the violation.
        var isVisible = true
        var trace: [String] = []
        /// The steps of the scenario that plays the trace; nil if a lab cannot play it.
        var played: [PlayedStep]?
        /// The index of the first step that a lab cannot play.
        var obstacle: Int?
        /// The limit of states was reached.
        var isIncomplete = false
        /// Distinct runs of the production server and contents of the store.
        var runs = 0
        var stored = 0
    }

    private let bounds: Bounds
    private let run: ServerRun
    private let rows: StoredRows
    private let runs: ServerRuns
    private let transitions: Transitions
    private let start: State
    private let progress: Progress

    /// The way to a state: its parent's number, and the place of the step among the parent's.
    ///
    /// States themselves are kept only until their successors are known; a trace is computed again.
    private var origins: [(parent: Int32, step: UInt8)] = [(-1, 0)]

    /// - Parameter folder: An existing empty folder for the audit log.
    init(_ bounds: Bounds, folder: String, progress: Progress) throws {
        guard let policy = bounds.policy else { preconditionFailure("the bounds allow no policy") }
        let phone = Phone()
        self.bounds = bounds
        self.progress = progress
        self.run = try ServerRun(phone, policy: policy, folder: folder)
        let steps = StoreSteps(phone, isShared: bounds.servers == 2)
        let registration = try self.run.registration()
        self.rows = StoredRows(steps)
        let released = [registration.unlockShare, registration.presenceShare, registration.deletionCode?.sealed]
        let identity = StoredIdentity(
            identity: registration.identity,
            mayRegisterAgain: true,
            released: released.compactMap(\.self)
        )
        self.runs = ServerRuns(self.run, identity: identity)
        let contents = try self.rows.number(of: try steps.registered(registration))
        self.start = State(primary: State.Copy(contents: contents), standby: State.Copy(contents: contents))
        self.transitions = Transitions(bounds: bounds, runs: self.runs, rows: self.rows)
    }

    /// The row's transitions that the search has found, in the words of the model.
    var rowTransitions: Set<RowTransition> { self.rows.transitions }

    func explore() throws -> Report {
        var report = Report()
        // Hashes of 64 bits: the chance that two of ten million states share one is below one in 100,000.
        var known: Set<UInt64> = [self.hash(self.start)]
        var (level, next) = ([self.start], [State]())
        var first = 0
        while !level.isEmpty {
            for (place, state) in level.enumerated() {
                for (step, action) in self.transitions.actions(in: state).enumerated() {
                    report.transitions += 1
                    do {
                        let after = self.transitions.canonical(try self.transitions.state(after: action, in: state))
                            .state
                        guard known.insert(self.hash(after)).inserted else { continue }
                        next.append(after)
                        self.origins.append((Int32(first + place), UInt8(step)))
                    } catch let violation as Violation {
                        (report.violation, report.isVisible) = (violation.text, violation.isVisible)
                        let trace = try self.trace(to: first + place, action)
                        report.trace = trace.map(\.text)
                        report.obstacle = trace.firstIndex { !$0.canBePlayed }
                        if report.obstacle == nil { report.played = self.transitions.played(trace.map(\.action)) }
                        return self.ended(report)
                    }
                }
                self.progress.show { "\(self.origins.count) states, depth \(report.depth)" }
                if self.origins.count > Bounds.mostStates {
                    report.isIncomplete = true
                    return self.ended(report)
                }
            }
            first += level.count
            (level, next) = (next, [])
            if !level.isEmpty { report.depth += 1 }
        }
        return self.ended(report)
    }

    private func hash(_ state: State) -> UInt64 {
        var hasher = Hasher()
        state.hash(into: &hasher)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private func ended(_ report: Report) -> Report {
        self.progress.clear()
        var report = report
        (report.states, report.runs, report.stored) = (self.origins.count, self.run.count, self.rows.count)
        return report
    }

    private typealias Step = (action: Action, text: String, canBePlayed: Bool)

    /// Returns the steps that lead to a state, and one more step.
    private func trace(to index: Int, _ last: Action) throws -> [Step] {
        var steps: [UInt8] = []
        var place = index
        while self.origins[place].parent >= 0 {
            steps.append(self.origins[place].step)
            place = Int(self.origins[place].parent)
        }
        var playing = self.transitions
        playing.bounds.isPlayable = true
        var (state, areSwapped, trace) = (self.start, false, [Step]())
        func add(_ action: Action) {
            trace.append((action, self.text(of: action, in: state, areSwapped), playing.canPlay(action, in: state)))
        }
        for step in steps.reversed() {
            let action = self.transitions.actions(in: state)[Int(step)]
            add(action)
            let after = self.transitions.canonical(try playing.state(after: action, in: state))
            state = after.state
            if after.isSwapped { areSwapped.toggle() }
        }
        add(last)
        return trace
    }

    /// - Parameter areSwapped: Whether the two clients have changed their places an odd number of times.
    private func text(of action: Action, in state: State, _ areSwapped: Bool) -> String {
        func name(_ number: Int) -> String {
            let client = Transitions.client(of: number)
            let isCommand = self.bounds.revocations == 0
            let name =
                client == Transitions.revoking
                ? isCommand ? "operator" : "owner" : "client \((client == 1) != areSwapped ? 2 : 1)"
            return client == number ? name : "\(name), whose connection was cut"
        }
        func host(_ number: Int) -> String { "server \(self.transitions.server(of: number) + 1)" }
        switch action {
        case .send(let number, let message): return "\(name(number)) -> \(host(number)): \(message)"
        case .step(let number):
            guard let operation = self.runs[state[number].node].finding.operation else { return "" }
            // No reply if the step leaves rows that cannot be read.
            let done = try? self.rows.run(operation, of: state[number].node, on: state.primary.contents)
            return "\(host(number)), for \(name(number)): \(operation.name)\(done.map { " -> \($0.reply.text)" } ?? "")"
        case .replicate: return "the standby receives the commit"
        case .cancelWait: return "the wait for the standby is cancelled; the outcome is unknown"
        case .failOver(let keepsCommit):
            let takeover = "the primary fails; the standby takes over"
            return keepsCommit ? "the standby receives the commit; \(takeover)" : takeover
        case .proceed(let number): return "\(host(number)) goes on with the call of \(name(number))"
        case .deliver(let number):
            let answer = self.runs[state[number].node].finding.answer
            return "\(host(number)) -> \(name(number)): \(answer.map { "\($0)" } ?? "")"
        case .lose(let number): return "the connection of \(name(number)) is cut before its answer"
        case .cut(let number): return "the connection of \(name(number)) is cut while its call waits"
        case .crash(let server): return "server \(server + 1) crashes and starts again"
        case .backUp: return "a backup is made"
        case .restore: return "the backup is restored with the rule \(self.bounds.rule.rawValue)"
        case .setClock(let step): return "the clock is set \(step > 0 ? "forward" : "back") by a minute"
        }
    }
}

extension Operation {
    /// The step in a transcript.
    var name: String {
        switch self {
        case .identity: "reads the identity"
        case .beginSession: "begins a session"
        case .judge(let attempt):
            if case .releaseShare = attempt.effect { "judges the PIN" } else { "judges the PIN, to change it" }
        case .report: "reads the wallet's state"
        case .revoke, .revokeWallets: "revokes the wallet"
        }
    }
}

extension Reply {
    /// The reply in a transcript.
    var text: String {
        switch self {
        case .identity(let identity): identity == nil ? "unknown" : "found"
        case .session(.active(_, let state, _, _, _, _)): state.text
        case .session(.revoked), .judged(.revoked): "revoked"
        case .session(let outcome): "\(outcome)"
        case .judged(.valid): "right"
        case .judged(.notValid(.wrong(let state), _)): "wrong, now \(state.text)"
        case .judged(.notValid(.blocked, _)): "blocked"
        case .judged(.notValid): "blocked permanently"
        case .judged(.pinKeyChanged): "another PIN key is current"
        case .judged(.identityChanged): "the identity has changed"
        case .report(let revocation): revocation == nil ? "in use" : "revoked"
        case .revoked, .walletsRevoked: "done"
        case .failed(let error): "\(error)"
        }
    }
}

extension PINState {
    fileprivate var text: String {
        switch self {
        case .open(_, let isLast): isLast ? "open, in the last round" : "open"
        case .blocked: "blocked"
        case .blockedPermanently: "blocked permanently"
        }
    }
}
