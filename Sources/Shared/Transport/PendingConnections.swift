internal import NIOCore

/// The connections in a phase that an attacker could prolong, up to a maximum number: handshakes, frames that are
/// longer than any call except Register needs, or the time before a session.
///
/// When the maximum is reached, a new connection displaces an earlier one. If we rejected new connections instead, an
/// attacker could lock out all clients until the timeout by leaving handshakes unfinished.
///
/// The displaced connection is the one with the highest score: its age, times the square root of the number of its
/// source's connections in this phase, or of a sixteenth of its network's if that is more. An honest handshake takes
/// two round trips and a registration arrives within one, so their ages are small.
///
/// Threat: a flood fills the capacity with p connections from k sources and begins r connections per second. It then
/// displaces no connection whose score is below (p / r) × √(p / k). So a flood from a few sources displaces itself,
/// even if the phones behind a shared address take seconds. A flood from many sources must be fast, because the number
/// of phones counts only by its square root. The rule has no memory, so that an attacker cannot train it. It ignores
/// calls, because they cost an attacker nothing. docs/limits.md has the figures.
struct PendingConnections {
    private struct Entry {
        let channel: any Channel
        let start: NIODeadline
    }

    /// The weight of a network's score relative to that of a source.
    ///
    /// An attacker can have all 65,536 sources of an IPv6 /48. A mobile operator's phones are in such networks too, so
    /// they must not become one victim: sixteen connections of a network count as one of a source.
    private static let networkWeight = 0.25

    private let capacity: Int
    private var entries: [UInt64: Entry] = [:]
    private var bySource = PendingGroups()
    private var byNetwork = PendingGroups()

    /// - Parameter capacity: The maximum number of connections. By default, there is no maximum, and only
    ///   ``displace(at:)`` displaces connections.
    init(capacity: Int = .max) {
        self.capacity = capacity
    }

    /// The number of connections in progress.
    var count: Int { self.entries.count }

    /// The number of entries in the queues of the choice, some of which are outdated.
    var queuedCount: Int { self.bySource.itemCount + self.byNetwork.itemCount }

    /// Adds a connection, and returns the connection that it displaces, which no longer counts.
    ///
    /// - Parameter source: The source, or nil if the load balancer has not sent it yet. All connections without a
    ///   source are one group until ``attribute(_:to:)``.
    mutating func begin(
        _ id: UInt64,
        from source: PeerSource?,
        on channel: any Channel,
        at now: NIODeadline
    ) -> (id: UInt64, channel: any Channel)? {
        let displaced = self.entries.count >= self.capacity ? self.displace(at: now) : nil
        self.entries[id] = Entry(channel: channel, start: now)
        self.insert(id, from: source ?? PeerSource(nil), startedAt: now)
        return displaced
    }

    /// Removes the connection with the highest score to make room for a new one and returns it, or nil if there is
    /// none.
    mutating func displace(at now: NIODeadline) -> (id: UInt64, channel: any Channel)? {
        guard let ofSources = self.bySource.highest(at: now), let ofNetworks = self.byNetwork.highest(at: now) else {
            return nil
        }
        let isNetwork = ofNetworks.score * Self.networkWeight > ofSources.score
        let id = isNetwork ? ofNetworks.id : ofSources.id
        return self.end(id).map { (id, $0) }
    }

    /// Sets a connection's source once the load balancer has sent it.
    mutating func attribute(_ id: UInt64, to source: PeerSource) {
        guard let entry = self.entries[id] else { return }
        self.removeFromGroups(id)
        self.insert(id, from: source, startedAt: entry.start)
    }

    /// Removes a connection that has completed the phase or ended.
    ///
    /// Returns its channel, or nil if it has already been displaced.
    @discardableResult
    mutating func end(_ id: UInt64) -> (any Channel)? {
        guard let entry = self.entries.removeValue(forKey: id) else { return nil }
        self.removeFromGroups(id)
        return entry.channel
    }

    private mutating func insert(_ id: UInt64, from source: PeerSource, startedAt start: NIODeadline) {
        self.bySource.insert(id, in: source, startedAt: start)
        self.byNetwork.insert(id, in: source.network, startedAt: start)
    }

    private mutating func removeFromGroups(_ id: UInt64) {
        self.bySource.remove(id)
        self.byNetwork.remove(id)
    }
}
