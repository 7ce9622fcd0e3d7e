import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import Transport

@Suite("Pending connections up to a capacity")
final class PendingConnectionsTests {
    private let channel = EmbeddedChannel()
    private let sources: [PeerSource]

    init() throws {
        // Each is in another network.
        self.sources = try (1...30).map { try #require(PeerSource(address: "198.18.\($0).1")) }
    }

    // An unfinished channel and its pipeline hold each other.
    deinit { _ = try? self.channel.finish(acceptAlreadyClosed: true) }

    /// Begins a connection at a time in seconds and returns the id of the displaced one.
    private func begin(
        _ id: UInt64,
        _ source: PeerSource?,
        at seconds: Double,
        in pending: inout PendingConnections
    ) -> UInt64? {
        pending.begin(id, from: source, on: self.channel, at: Self.time(seconds))?.id
    }

    private static func time(_ seconds: Double) -> NIODeadline { .uptimeNanoseconds(UInt64(seconds * 1e9)) }

    @Test("a new connection is always admitted; at capacity it displaces the oldest of equally many from each source")
    func displacesOldest() {
        var pending = PendingConnections(capacity: 3)
        for id in UInt64(1)...3 {
            #expect(self.begin(id, self.sources[Int(id)], at: Double(id), in: &pending) == nil)
        }
        #expect(self.begin(4, self.sources[4], at: 4, in: &pending) == 1)
        pending.end(2)
        #expect(self.begin(5, self.sources[5], at: 5, in: &pending) == nil)
        #expect(self.begin(6, self.sources[6], at: 6, in: &pending) == 3)
        #expect(pending.count == 3)
        #expect(pending.end(1) == nil, "it was displaced before")
    }

    @Test("a connection of a source with four times as many is displaced if it is more than half as old")
    func squareRoot() {
        for (age, displaced) in [(0.49, UInt64(1)), (0.51, 2)] {
            var pending = PendingConnections(capacity: 5)
            _ = self.begin(1, self.sources[0], at: 9, in: &pending)
            for id in UInt64(2)...5 { _ = self.begin(id, self.sources[1], at: 10 - age, in: &pending) }
            #expect(self.begin(6, self.sources[2], at: 10, in: &pending) == displaced)
        }
    }

    @Test("sixteen sources of a network count as one connection of a source, and 96 as six")
    func network() throws {
        for (count, age, displaced) in [(16, 1.01, UInt64(1)), (16, 0.99, 0), (96, 0.42, 1), (96, 0.40, 0)] {
            for network in ["2001:db8:1:%::", "203.0.113.%"] {
                var pending = PendingConnections(capacity: count + 1)
                #expect(self.begin(0, self.sources[0], at: 9, in: &pending) == nil)
                for id in 1...count {
                    let source = try #require(PeerSource(address: network.replacing("%", with: "\(id)")))
                    _ = self.begin(UInt64(id), source, at: 10 - age, in: &pending)
                }
                #expect(self.begin(99, self.sources[1], at: 10, in: &pending) == displaced)
            }
        }
    }

    @Test("the choice is the highest score, after any changes")
    func highestScore() throws {
        var generator = SeededGenerator(seed: 47)
        var groups = PendingGroups()
        var open: [UInt64: (source: PeerSource, start: Double)] = [:]
        for id in UInt64(1)...20_000 {
            let now = Double(id) / 100
            let source = self.sources[Int.random(in: 0..<Int.random(in: 1...30, using: &generator), using: &generator)]
            groups.insert(id, in: source, startedAt: Self.time(now))
            open[id] = (source, now)
            while open.count > 300 || Int.random(in: 0..<4, using: &generator) == 0, let any = open.keys.min() {
                let isHighest = Bool.random(using: &generator)
                let gone = isHighest ? try #require(groups.highest(at: Self.time(now))?.id) : any + id % 7
                if isHighest {
                    let counts = Dictionary(grouping: open.values, by: \.source).mapValues(\.count)
                    let scores = open.mapValues { (now - $0.start) * Self.rounded(counts[$0.source] ?? 0).squareRoot() }
                    let score = try #require(scores[gone])
                    #expect(try #require(scores.values.max()) <= score * 1.000_001)
                }
                groups.remove(gone)
                open[gone] = nil
            }
        }
    }

    /// Rounds down to three significant bits.
    private static func rounded(_ count: Int) -> Double {
        var step = 1
        while count / step >= 8 { step *= 2 }
        return Double(count / step * step)
    }

    @Test("behind a load balancer, a source counts from the time it is named")
    func attributed() {
        var pending = PendingConnections(capacity: 4)
        for id in UInt64(1)...3 { #expect(self.begin(id, nil, at: Double(id), in: &pending) == nil) }
        pending.attribute(2, to: self.sources[0])
        pending.attribute(3, to: self.sources[0])
        pending.attribute(1, to: self.sources[0])
        #expect(self.begin(4, nil, at: 4, in: &pending) == nil)
        for (id, displaced) in [(5, 1), (6, 2), (7, 3)] as [(UInt64, UInt64)] {
            #expect(self.begin(id, nil, at: 4, in: &pending) == displaced)
        }
        pending.attribute(99, to: self.sources[1])
        #expect(pending.count == 4)
    }

    @Test("ended connections take no memory, however many followed one that stays")
    func tidy() {
        var pending = PendingConnections(capacity: 1_000)
        _ = self.begin(1, self.sources[0], at: 0, in: &pending)
        for id in UInt64(2)...50_000 {
            #expect(self.begin(id, self.sources[Int(id % 30)], at: Double(id), in: &pending) == nil)
            #expect(pending.end(id) != nil)
        }
        #expect(pending.queuedCount < 200)
        #expect(pending.end(1) != nil)
        #expect(pending.count == 0)
    }
}
