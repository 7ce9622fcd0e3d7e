internal import Synchronization
internal import Transport
internal import Vocabulary

/// The accounts of all sources that are connected, and of as many that were as there is room for.
///
/// Threat: somebody who has used up what one source may have makes the table forget it, with connections from many other
/// sources. A source with a connection is never forgotten. Of the others one is forgotten that owes least of some chosen at
/// random, which is worth no more than that to whoever comes back from it: to have an account with a great debt forgotten,
/// others have to be driven into greater ones, each of which takes as many calls as it would give back.
final class SourceTable: Sendable {
    private struct Entry {
        let account: SourceAccount
        var connections = 0
        /// Its place among the idle ones; nil while it has connections.
        var idlePlace: Int?
    }

    private struct State {
        var entries: [PeerSource: Entry] = [:]
        /// Those without a connection, in no order.
        var idle: [PeerSource] = []

        func debt(_ place: Int, at now: Timestamp, _ limits: SourceLimits) -> Int64 {
            self.entries[self.idle[place]]?.account.debt(at: now, limits) ?? 0
        }

        mutating func forget(_ place: Int) {
            self.entries[self.idle[place]] = nil
            self.leaveIdle(place)
        }

        /// The last one takes the place that becomes free.
        mutating func leaveIdle(_ place: Int) {
            let last = self.idle.removeLast()
            guard place < self.idle.count else { return }
            self.idle[place] = last
            self.entries[last]?.idlePlace = place
        }
    }

    /// Among how many the one that is forgotten is chosen.
    private static let candidates = 16
    /// How many are looked at whenever one becomes idle; those that owe nothing go.
    private static let swept = 2

    private let limits: SourceLimits
    private let state = Mutex(State())

    init(_ limits: SourceLimits) {
        self.limits = limits
    }

    /// How many sources are known.
    var count: Int { self.state.withLock { $0.entries.count } }

    /// A connection came; ``disconnect(_:at:)`` must follow.
    func connect(_ source: PeerSource) -> SourceAccount {
        self.state.withLock { state in
            var entry = state.entries[source] ?? Entry(account: SourceAccount(source))
            if let place = entry.idlePlace.take() { state.leaveIdle(place) }
            entry.connections += 1
            state.entries[source] = entry
            return entry.account
        }
    }

    /// A connection has ended.
    func disconnect(_ source: PeerSource, at now: Timestamp) {
        self.state.withLock { state in
            guard var entry = state.entries[source] else { return }
            entry.connections -= 1
            state.entries[source] = entry
            if entry.connections == 0 { self.rest(source, in: &state, at: now) }
        }
    }

    /// The account of a source that need not have a connection here: the portal's clients.
    func account(of source: PeerSource, at now: Timestamp) -> SourceAccount {
        self.state.withLock { state in
            if let entry = state.entries[source] { return entry.account }
            let account = SourceAccount(source)
            state.entries[source] = Entry(account: account)
            self.rest(source, in: &state, at: now)
            return account
        }
    }

    /// A source has no connection any more; another one may have to go.
    private func rest(_ source: PeerSource, in state: inout State, at now: Timestamp) {
        while state.idle.count >= max(1, self.limits.remembered) {
            let places = (0..<Self.candidates).map { _ in Int.random(in: state.idle.indices) }
            let debts = places.map { state.debt($0, at: now, self.limits) }
            guard let least = debts.indices.min(by: { debts[$0] < debts[$1] }) else { break }
            state.forget(places[least])
        }
        for _ in 0..<Self.swept where !state.idle.isEmpty {
            let place = Int.random(in: state.idle.indices)
            if state.debt(place, at: now, self.limits) == 0 { state.forget(place) }
        }
        state.entries[source]?.idlePlace = state.idle.count
        state.idle.append(source)
    }
}
