internal import Synchronization
internal import Transport
internal import Vocabulary

/// The accounts of all connected sources and of a limited number of earlier ones.
///
/// Threat: an attacker who has used up one source's allowance connects from many others, to make the table forget that
/// source. A source with a connection is never forgotten. Among the others, the table takes a random sample and evicts
/// the source with the least debt. Evicting an account with a large debt therefore requires larger debts in other
/// accounts, which cost as many calls as the eviction would gain.
final class SourceTable: Sendable {
    private struct Entry {
        let account: SourceAccount
        var connections = 0
        /// The position among the idle sources, or nil if the source has a connection.
        var idleIndex: Int?
    }

    private struct State {
        var limits: SourceLimits
        var entries: [PeerSource: Entry] = [:]
        /// The sources without a connection, in no particular order.
        var idle: [PeerSource] = []
        /// The largest number of connections of one source since it was last taken.
        var mostConnections = 0

        func debt(_ index: Int, at now: Timestamp) -> Int64 {
            self.entries[self.idle[index]]?.account.debt(at: now, self.limits) ?? 0
        }

        mutating func evict(_ index: Int) {
            self.entries[self.idle[index]] = nil
            self.leaveIdle(index)
        }

        /// Removes a source from the idle ones.
        ///
        /// The last one takes its position.
        mutating func leaveIdle(_ index: Int) {
            let last = self.idle.removeLast()
            guard index < self.idle.count else { return }
            self.idle[index] = last
            self.entries[last]?.idleIndex = index
        }
    }

    /// The size of the random sample that one source is evicted from.
    private static let sampleSize = 16
    /// The number of idle sources examined each time a source becomes idle.
    ///
    /// Those without debt are removed.
    private static let swept = 2

    private let state: Mutex<State>

    init(_ limits: SourceLimits) {
        self.state = Mutex(State(limits: limits))
    }

    /// Replaces the limits used to compare accounts.
    func use(_ limits: SourceLimits) { self.state.withLock { $0.limits = limits } }

    /// The number of known sources.
    var count: Int { self.state.withLock { $0.entries.count } }

    /// Returns the largest number of connections that one source had when it made a new one, since the last call.
    func takeMostConnections() -> Int {
        self.state.withLock { state in
            defer { state.mostConnections = 0 }
            return state.mostConnections
        }
    }

    /// Records a new connection.
    ///
    /// The caller must call ``disconnect(_:at:)`` when it ends.
    func connect(_ source: PeerSource) -> SourceAccount {
        self.state.withLock { state in
            var entry = state.entries[source] ?? Entry(account: SourceAccount(source))
            if let index = entry.idleIndex.take() { state.leaveIdle(index) }
            entry.connections += 1
            state.mostConnections = max(state.mostConnections, entry.connections)
            state.entries[source] = entry
            return entry.account
        }
    }

    /// Records the end of a connection.
    func disconnect(_ source: PeerSource, at now: Timestamp) {
        self.state.withLock { state in
            guard var entry = state.entries[source] else { return }
            entry.connections -= 1
            state.entries[source] = entry
            if entry.connections == 0 { self.becomeIdle(source, in: &state, at: now) }
        }
    }

    /// Returns the account of a source that might not be connected to this server, such as a client of the portal.
    func account(of source: PeerSource, at now: Timestamp) -> SourceAccount {
        self.state.withLock { state in
            if let entry = state.entries[source] { return entry.account }
            let account = SourceAccount(source)
            state.entries[source] = Entry(account: account)
            self.becomeIdle(source, in: &state, at: now)
            return account
        }
    }

    /// Adds a source without connections to the idle ones.
    ///
    /// Evicts another one if the table is full.
    private func becomeIdle(_ source: PeerSource, in state: inout State, at now: Timestamp) {
        while state.idle.count >= max(1, state.limits.remembered) {
            let sample = (0..<Self.sampleSize).map { _ in Int.random(in: state.idle.indices) }
            let debts = sample.map { state.debt($0, at: now) }
            guard let least = debts.indices.min(by: { debts[$0] < debts[$1] }) else { break }
            state.evict(sample[least])
        }
        for _ in 0..<Self.swept where !state.idle.isEmpty {
            let index = Int.random(in: state.idle.indices)
            if state.debt(index, at: now) == 0 { state.evict(index) }
        }
        state.entries[source]?.idleIndex = state.idle.count
        state.idle.append(source)
    }
}

/// The amount of each limited resource that a source has used.
///
/// Every connection holds its source's account, so a call requires no lookup and only one atomic exchange.
final class SourceAccount: Sendable {
    let source: PeerSource
    let calls = Bucket()
    let sessionCalls = Bucket()
    let enrollments = Bucket()
    let codes = Bucket()
    /// The allowance for log lines about refused calls.
    let refusalLines = Bucket()

    init(_ source: PeerSource) {
        self.source = source
    }

    /// Takes one use of a limit, or returns the time to wait if none is left.
    func take(_ limit: SourceLimit, _ rules: SourceLimits, at now: Timestamp) -> Duration? {
        switch limit {
        case .calls: self.calls.take(rules.calls, at: now)
        case .sessionCalls: self.sessionCalls.take(rules.calls, at: now)
        case .enrollments: self.enrollments.take(rules.enrollments, at: now)
        case .codes: self.codes.take(rules.codes, at: now)
        }
    }

    /// Returns the part of a limit's burst that is used.
    func used(_ limit: SourceLimit, _ rules: SourceLimits, at now: Timestamp) -> Int {
        switch limit {
        case .calls: self.calls.used(rules.calls, at: now)
        case .sessionCalls: self.sessionCalls.used(rules.calls, at: now)
        case .enrollments: self.enrollments.used(rules.enrollments, at: now)
        case .codes: self.codes.used(rules.codes, at: now)
        }
    }

    /// Returns the number of microseconds until the account is equal to that of a source that has never called.
    func debt(at now: Timestamp, _ limits: SourceLimits) -> Int64 {
        max(
            self.calls.debt(limits.calls, at: now),
            self.sessionCalls.debt(limits.calls, at: now),
            self.enrollments.debt(limits.enrollments, at: now),
            self.codes.debt(limits.codes, at: now),
            self.refusalLines.debt(RefusalLogLimiter.ofSource, at: now)
        )
    }
}
