internal import NIOCore

/// The connections in a phase that an attacker could prolong, starting with the oldest, up to a maximum number:
/// handshakes, frames that are longer than any call except Register needs, or the time before a session.
///
/// When the maximum is reached, a new connection displaces an earlier one. If we rejected new connections instead, an
/// attacker could lock out all clients until the timeout by leaving handshakes unfinished. An honest handshake takes
/// two round trips and a registration arrives within one, so both finish before they become one of the oldest, unless a
/// flood can fill the whole capacity within that time.
///
/// The displaced connection is one whose source has the most in progress, so that a flood from a few sources displaces
/// itself. It is chosen from the oldest connections and a random sample. Without the sample, the oldest connections
/// would eventually all be honest ones that the flood has not displaced.
struct PendingConnections {
    private struct Entry {
        var source: PeerSource?
        let channel: any Channel
        let start: NIODeadline
    }

    private let capacity: Int
    /// The ids in order of arrival.
    ///
    /// Connections that have ended are skipped.
    private var order = CircularBuffer<UInt64>()
    private var inProgress: [UInt64: Entry] = [:]
    private var bySource: [PeerSource: Int] = [:]

    /// The number of oldest connections among which one is chosen to be displaced.
    private static let candidates = 16
    /// The size of the random sample.
    ///
    /// At least a third of all ids are still in progress (see ``tidy()``).
    private static let sampled = 64
    /// The number of ids to search for the oldest connections, including connections that have ended.
    private static let searched = 256

    /// - Parameter capacity: The maximum number of connections. By default, there is no maximum, and only
    ///   ``displace(startedBefore:)`` displaces connections.
    init(capacity: Int = .max) {
        self.capacity = capacity
    }

    /// The number of connections in progress.
    var count: Int { self.inProgress.count }

    /// The size in bytes of the list of ids, including connections that have ended.
    var orderByteCount: Int { self.order.count * MemoryLayout<UInt64>.size }

    /// Adds a connection, and returns the connection that it displaces, which no longer counts.
    mutating func begin(
        _ id: UInt64,
        from source: PeerSource?,
        on channel: any Channel,
        at now: NIODeadline = .now()
    ) -> (id: UInt64, channel: any Channel)? {
        let displaced = self.inProgress.count >= self.capacity ? self.displace() : nil
        self.order.append(id)
        self.inProgress[id] = Entry(source: source, channel: channel, start: now)
        if let source { self.bySource[source, default: 0] += 1 }
        return displaced
    }

    /// Removes a connection to make room for a new one and returns it, or nil if none can be removed.
    ///
    /// - Parameter limit: Connections that started later than this are not removed.
    mutating func displace(startedBefore limit: NIODeadline = .distantFuture) -> (id: UInt64, channel: any Channel)? {
        guard let id = self.connectionToDisplace(startedBefore: limit), let channel = self.end(id) else { return nil }
        return (id, channel)
    }

    /// Sets a connection's source once the load balancer has sent it.
    mutating func attribute(_ id: UInt64, to source: PeerSource) {
        guard self.inProgress[id] != nil else { return }
        self.inProgress[id]?.source = source
        self.bySource[source, default: 0] += 1
    }

    /// Removes a connection that has completed the phase or ended.
    ///
    /// Returns its channel, or nil if it has already been displaced.
    @discardableResult
    mutating func end(_ id: UInt64) -> (any Channel)? {
        guard let entry = self.inProgress.removeValue(forKey: id) else { return nil }
        if let source = entry.source {
            let left = self.bySource[source, default: 1] - 1
            self.bySource[source] = left > 0 ? left : nil
        }
        self.tidy()
        return entry.channel
    }

    private func connectionToDisplace(startedBefore limit: NIODeadline) -> UInt64? {
        let oldest = self.order.prefix(Self.searched).lazy.filter { self.inProgress[$0] != nil }.prefix(Self.candidates)
        let sample = (0..<Self.sampled).compactMap { _ in self.order.randomElement() }
        var best: (id: UInt64, count: Int)?
        // The oldest come first. If several sources have the same count, the oldest connection is displaced.
        for id in Array(oldest) + sample {
            guard let entry = self.inProgress[id], entry.start < limit else { continue }
            let count = entry.source.map { self.bySource[$0, default: 0] } ?? 0
            if count > best?.count ?? -1 { best = (id, count) }
        }
        return best?.id
    }

    /// Drops the ids of connections that have ended.
    ///
    /// Those at the front are dropped immediately, the others once they are in the majority.
    private mutating func tidy() {
        while let first = self.order.first, self.inProgress[first] == nil { self.order.removeFirst() }
        guard self.order.count > 64 + 2 * self.inProgress.count else { return }
        let left = self.order.filter { self.inProgress[$0] != nil }
        self.order = CircularBuffer(left)
    }
}
