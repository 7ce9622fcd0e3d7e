import NIOCore
import NIOEmbedded
import Testing

@testable import Transport

@Suite("Pending connections up to a capacity")
final class PendingConnectionsTests {
    private let channel = EmbeddedChannel()
    private let sources: [PeerSource]

    init() throws {
        self.sources = try (1...30).map { try #require(PeerSource(address: "192.0.2.\($0)")) }
    }

    // An unfinished channel and its pipeline hold each other.
    deinit { _ = try? self.channel.finish(acceptAlreadyClosed: true) }

    @Test("a new connection is always admitted; at capacity it displaces the oldest")
    func displacesOldest() {
        var pending = PendingConnections(capacity: 3)
        for id in UInt64(1)...3 {
            #expect(pending.begin(id, from: self.sources[Int(id)], on: self.channel) == nil)
        }
        #expect(pending.begin(4, from: self.sources[4], on: self.channel)?.id == 1)
        pending.end(2)
        #expect(pending.begin(5, from: self.sources[5], on: self.channel) == nil)
        #expect(pending.begin(6, from: self.sources[6], on: self.channel)?.id == 3)
        #expect(pending.count == 3)
        #expect(pending.end(1) == nil, "it was displaced before")
    }

    @Test("a flood from one source displaces itself, not earlier connections of other sources")
    func floodDisplacesItself() {
        var pending = PendingConnections(capacity: 20)
        for id in UInt64(1)...5 { _ = pending.begin(id, from: self.sources[Int(id)], on: self.channel) }
        var displaced: [UInt64] = []
        for id in UInt64(6)...500 {
            if let gone = pending.begin(id, from: self.sources[0], on: self.channel) { displaced.append(gone.id) }
        }
        #expect(displaced.count == 500 - 20)
        #expect(displaced.allSatisfy { $0 > 5 })
        for id in UInt64(1)...5 { #expect(pending.end(id) != nil) }
    }

    @Test("a flood displaces none of the earlier connections of other sources, however many they are")
    func floodSparesOthers() {
        var pending = PendingConnections(capacity: 200)
        for id in UInt64(1)...29 { _ = pending.begin(id, from: self.sources[Int(id)], on: self.channel) }
        for id in UInt64(30)...1_000 {
            let gone = pending.begin(id, from: self.sources[0], on: self.channel)
            #expect(gone.map { $0.id > 29 } ?? (id <= 200))
        }
    }

    @Test("a displacement on request spares the connections that began later")
    func startedBefore() {
        var pending = PendingConnections()
        let start = NIODeadline.now()
        for id in UInt64(1)...3 {
            let begin = start + .seconds(Int64(id))
            #expect(pending.begin(id, from: self.sources[Int(id)], on: self.channel, at: begin) == nil)
        }
        #expect(pending.displace(startedBefore: start + .seconds(1)) == nil)
        #expect(pending.displace(startedBefore: start + .seconds(3))?.id == 1)
        #expect(pending.displace(startedBefore: start + .seconds(3))?.id == 2)
        #expect(pending.displace(startedBefore: start + .seconds(3)) == nil)
        #expect(pending.displace()?.id == 3)
        #expect(pending.displace() == nil)
    }

    @Test("behind a load balancer, a source counts from the time it is named")
    func attributed() {
        var pending = PendingConnections(capacity: 4)
        _ = pending.begin(1, from: nil, on: self.channel)
        _ = pending.begin(2, from: nil, on: self.channel)
        _ = pending.begin(3, from: nil, on: self.channel)
        pending.attribute(2, to: self.sources[0])
        pending.attribute(3, to: self.sources[0])
        _ = pending.begin(4, from: nil, on: self.channel)
        #expect(pending.begin(5, from: nil, on: self.channel)?.id == 2)
        pending.attribute(99, to: self.sources[1])
        #expect(pending.count == 4)
    }

    @Test("ended connections take no memory, however many followed one that stays")
    func tidy() {
        var pending = PendingConnections(capacity: 1_000)
        _ = pending.begin(1, from: self.sources[0], on: self.channel)
        for id in UInt64(2)...50_000 {
            #expect(pending.begin(id, from: self.sources[Int(id % 30)], on: self.channel) == nil)
            #expect(pending.end(id) != nil)
        }
        #expect(pending.orderByteCount < 4_096)
        #expect(pending.end(1) != nil)
        #expect(pending.count == 0)
    }
}
