internal import NIOCore

/// The connections that are in the middle of what costs memory and is over soon, oldest first, with room for so many:
/// handshakes, and frames that only a registration needs.
///
/// When there is no room the newcomer is let in and one of the oldest has to go. Refusing newcomers would let whoever
/// begins and does not go on keep everybody out for as long as it may take. An honest handshake is done after two round
/// trips, and a registration arrives within one, so it is over before it becomes one of the oldest: a flood has to bring
/// as many connections as there is room for within that time. Of the oldest it is one whose source has most in progress,
/// so that a flood from few sources displaces itself.
struct PendingConnections {
    private struct Entry {
        var source: PeerSource?
        let channel: any Channel
    }

    private let room: Int
    /// In order; those that have ended are skipped.
    private var order = CircularBuffer<UInt64>()
    private var inProgress: [UInt64: Entry] = [:]
    private var bySource: [PeerSource: Int] = [:]

    /// Among how many of the oldest the one that goes is chosen.
    private static let candidates = 16

    init(room: Int) {
        self.room = room
    }

    /// How many there are.
    var count: Int { self.inProgress.count }

    /// How much is kept of their order, those that have ended included.
    var waitingByteCount: Int { self.order.count * MemoryLayout<UInt64>.size }

    /// Takes one in; the one that has to go for it, which is no longer counted.
    mutating func begin(
        _ id: UInt64,
        from source: PeerSource?,
        on channel: any Channel
    ) -> (id: UInt64, channel: any Channel)? {
        let displaced = self.inProgress.count >= self.room ? self.chosen() : nil
        self.order.append(id)
        self.inProgress[id] = Entry(source: source, channel: channel)
        if let source { self.bySource[source, default: 0] += 1 }
        guard let displaced, let old = self.end(displaced) else { return nil }
        return (displaced, old)
    }

    /// A balancer has said where one comes from.
    mutating func attribute(_ id: UInt64, to source: PeerSource) {
        guard self.inProgress[id] != nil else { return }
        self.inProgress[id]?.source = source
        self.bySource[source, default: 0] += 1
    }

    /// One is finished or has ended; its channel, unless it was counted no longer.
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

    private func chosen() -> UInt64? {
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

    /// Drops the ids of those that have ended: in front at once, elsewhere when they are most of all.
    private mutating func tidy() {
        while let first = self.order.first, self.inProgress[first] == nil { self.order.removeFirst() }
        guard self.order.count > 64 + 2 * self.inProgress.count else { return }
        let left = self.order.filter { self.inProgress[$0] != nil }
        self.order = CircularBuffer(left)
    }
}
