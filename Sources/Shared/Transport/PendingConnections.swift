internal import NIOCore

/// The connections in a short phase that costs memory, oldest first, up to a capacity: handshakes,
/// or frames of a length that only Register needs.
///
/// At capacity, a new connection displaces one of the oldest. If new connections were rejected
/// instead, an attacker with unfinished handshakes could lock out all clients until the timeout. An
/// honest handshake takes two round trips and a registration arrives within one, so both finish
/// before they are among the oldest: a flood has to fill the capacity within that time. Among the
/// oldest, the connection whose source has the most in progress is displaced, so that a flood from
/// a few sources displaces itself.
struct PendingConnections {
    private struct Entry {
        var source: PeerSource?
        let channel: any Channel
    }

    private let capacity: Int
    /// The ids in order of arrival; ended connections are skipped.
    private var order = CircularBuffer<UInt64>()
    private var inProgress: [UInt64: Entry] = [:]
    private var bySource: [PeerSource: Int] = [:]

    /// The number of oldest connections among which one is displaced.
    private static let candidates = 16

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The number of connections in progress.
    var count: Int { self.inProgress.count }

    /// The size of the list of ids, ended connections included.
    var orderByteCount: Int { self.order.count * MemoryLayout<UInt64>.size }

    /// Adds a connection; returns the displaced one, which no longer counts.
    mutating func begin(
        _ id: UInt64,
        from source: PeerSource?,
        on channel: any Channel
    ) -> (id: UInt64, channel: any Channel)? {
        let displaced = self.inProgress.count >= self.capacity ? self.connectionToDisplace() : nil
        self.order.append(id)
        self.inProgress[id] = Entry(source: source, channel: channel)
        if let source { self.bySource[source, default: 0] += 1 }
        guard let displaced, let old = self.end(displaced) else { return nil }
        return (displaced, old)
    }

    /// Sets the source that a load balancer named for a connection.
    mutating func attribute(_ id: UInt64, to source: PeerSource) {
        guard self.inProgress[id] != nil else { return }
        self.inProgress[id]?.source = source
        self.bySource[source, default: 0] += 1
    }

    /// Removes a connection that finished the phase or ended; returns its channel, or nil if it was
    /// displaced before.
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

    private func connectionToDisplace() -> UInt64? {
        var best: (id: UInt64, count: Int)?
        var seen = 0
        for id in self.order {
            guard let entry = self.inProgress[id] else { continue }
            let count = entry.source.map { self.bySource[$0, default: 0] } ?? 0
            if count > best?.count ?? -1 { best = (id, count) }
            seen += 1
            if seen == Self.candidates { break }
        }
        return best?.id
    }

    /// Drops the ids of ended connections: at the front immediately, elsewhere once they are the majority.
    private mutating func tidy() {
        while let first = self.order.first, self.inProgress[first] == nil { self.order.removeFirst() }
        guard self.order.count > 64 + 2 * self.inProgress.count else { return }
        let left = self.order.filter { self.inProgress[$0] != nil }
        self.order = CircularBuffer(left)
    }
}
