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
    init(capacity: Int = .max) { self.capacity = capacity }

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

    /// Removes a connection that has completed the phase or ended; returns its channel, or nil if it has already been
    /// displaced.
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

/// Pending connections in groups, such as all connections of a source, and the one with the highest score.
///
/// A connection's score is its age in nanoseconds times the square root of the number of connections in its group. That
/// number is rounded down to three significant bits. The highest score in a group is that of its oldest connection.
/// Among groups of the same rounded size, the one with the oldest connection has the highest score. So there is a queue
/// of groups for each rounded size, and only the fronts of the queues are compared. Each change takes O(log n) time, so
/// that no pattern of groups makes the choice slow.
struct PendingGroups {
    private struct Member {
        let group: PeerSource
        let start: NIODeadline
        /// The neighbors in the group, in the order of their start.
        var older: UInt64?
        var newer: UInt64?
    }

    private struct Group {
        var count = 0
        var oldest: UInt64?
        var newest: UInt64?
        var sizeClass: Int { SizeClass.of(self.count) }
    }

    private var members: [UInt64: Member] = [:]
    private var groups: [PeerSource: Group] = [:]
    /// For each size class, the oldest connection of each group.
    ///
    /// Items of groups that have changed since are skipped.
    private var queues: [StartQueue] = []

    /// The number of queued items, including those that are skipped.
    private(set) var itemCount = 0

    mutating func insert(_ id: UInt64, in group: PeerSource, startedAt start: NIODeadline) {
        var (older, newer) = (self.groups[group]?.newest, UInt64?.none)
        // A connection is the newest, unless a load balancer names its source late.
        while let other = older, let member = self.members[other], member.start > start {
            (older, newer) = (member.older, other)
        }
        self.members[id] = Member(group: group, start: start)
        self.update(group) { links, group in
            group.count += 1
            links.connect(older, id, in: &group)
            links.connect(id, newer, in: &group)
        }
    }

    mutating func remove(_ id: UInt64) {
        guard let member = self.members[id] else { return }
        self.update(member.group) { links, group in
            group.count -= 1
            links.connect(member.older, member.newer, in: &group)
        }
        self.members[id] = nil
    }

    /// Returns the connection with the highest score, and the score.
    mutating func highest(at now: NIODeadline) -> (id: UInt64, score: Double)? {
        var highest: (id: UInt64, score: Double)?
        for index in self.queues.indices {
            guard let front = self.front(of: index) else { continue }
            let age = Double(max(0, (now - front.start).nanoseconds))
            let score = age * Double(SizeClass.leastCount(index)).squareRoot()
            if score >= highest?.score ?? 0 { highest = (front.id, score) }
        }
        return highest
    }

    /// Makes two connections neighbors, or one of them the oldest or newest of the group.
    private mutating func connect(_ older: UInt64?, _ newer: UInt64?, in group: inout Group) {
        if let older { self.members[older]?.newer = newer } else { group.oldest = newer }
        if let newer { self.members[newer]?.older = older } else { group.newest = older }
    }

    private mutating func update(_ key: PeerSource, _ change: (inout Self, inout Group) -> Void) {
        let before = self.groups[key] ?? Group()
        var group = before
        change(&self, &group)
        self.groups[key] = group.count > 0 ? group : nil
        if group.oldest != before.oldest || group.sizeClass != before.sizeClass { self.enqueue(group) }
        guard self.itemCount > 64 + 4 * self.groups.count else { return }
        (self.queues, self.itemCount) = ([], 0)
        for group in self.groups.values { self.enqueue(group) }
    }

    private mutating func enqueue(_ group: Group) {
        guard let id = group.oldest, let start = self.members[id]?.start else { return }
        let index = group.sizeClass
        while self.queues.count <= index { self.queues.append(StartQueue()) }
        self.queues[index].push(StartQueue.Item(start: start, id: id))
        self.itemCount += 1
    }

    /// Returns the front of a queue after dropping items that are no longer true.
    private mutating func front(of index: Int) -> StartQueue.Item? {
        while let item = self.queues[index].first {
            if let member = self.members[item.id], member.start == item.start,
                let group = self.groups[member.group], group.oldest == item.id, group.sizeClass == index
            {
                return item
            }
            self.queues[index].removeFirst()
            self.itemCount -= 1
        }
        return nil
    }
}

/// The classes of numbers that are equal after rounding down to three significant bits.
///
/// They are 1, 2, …, 7, 8 and 9, 10 and 11, and so on: 48 for 10,000 connections. A large group rarely changes
/// its class.
private enum SizeClass {
    static func of(_ count: Int) -> Int {
        let shift = max(0, Int.bitWidth - count.leadingZeroBitCount - 3)
        return 4 * shift + count >> shift
    }

    /// Returns the least number in a class.
    static func leastCount(_ index: Int) -> Int {
        let shift = max(0, index / 4 - 1)
        return (index - 4 * shift) << shift
    }
}

/// A binary heap of connections, with the one that started first at its front.
private struct StartQueue {
    struct Item: Comparable {
        let start: NIODeadline
        let id: UInt64

        static func < (one: Self, other: Self) -> Bool { (one.start, one.id) < (other.start, other.id) }
    }

    private var items: [Item] = []

    var first: Item? { self.items.first }

    mutating func push(_ item: Item) {
        var index = self.items.count
        self.items.append(item)
        // rule: transport-newest-handshake-displaced
        while index > 0, self.items[index] < self.items[(index - 1) / 2] {
            self.items.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func removeFirst() {
        self.items.swapAt(0, self.items.count - 1)
        self.items.removeLast()
        var index = 0
        while true {
            let children = (2 * index + 1..<2 * index + 3).clamped(to: self.items.indices)
            guard let child = children.min(by: { self.items[$0] < self.items[$1] }) else { return }
            guard self.items[child] < self.items[index] else { return }
            self.items.swapAt(index, child)
            index = child
        }
    }
}
