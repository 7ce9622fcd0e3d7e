import NIOCore
import NIOEmbedded
import Testing

@testable import Transport

@Suite("What is begun and not finished, with room for so many")
final class UnfinishedTests {
    private let channel = EmbeddedChannel()
    private let sources: [PeerSource]

    init() throws {
        self.sources = try (1...30).map { try #require(PeerSource(address: "192.0.2.\($0)")) }
    }

    // A channel that was not finished and its pipeline hold each other.
    deinit { _ = try? self.channel.finish(acceptAlreadyClosed: true) }

    @Test("a newcomer is always let in; the oldest goes when there is no room")
    func oldestGoes() {
        var unfinished = Unfinished(room: 3)
        for id in UInt64(1)...3 {
            #expect(unfinished.begin(id, from: self.sources[Int(id)], on: self.channel) == nil)
        }
        #expect(unfinished.begin(4, from: self.sources[4], on: self.channel)?.id == 1)
        unfinished.end(2)
        #expect(unfinished.begin(5, from: self.sources[5], on: self.channel) == nil)
        #expect(unfinished.begin(6, from: self.sources[6], on: self.channel)?.id == 3)
        #expect(unfinished.count == 3)
        #expect(unfinished.end(1) == nil, "it was displaced before")
    }

    @Test("a flood from one source displaces itself, and not others that came before it")
    func floodDisplacesItself() {
        var unfinished = Unfinished(room: 20)
        for id in UInt64(1)...5 { _ = unfinished.begin(id, from: self.sources[Int(id)], on: self.channel) }
        var displaced: [UInt64] = []
        for id in UInt64(6)...500 {
            if let gone = unfinished.begin(id, from: self.sources[0], on: self.channel) { displaced.append(gone.id) }
        }
        #expect(displaced.count == 500 - 20)
        #expect(displaced.allSatisfy { $0 > 5 })
        for id in UInt64(1)...5 { #expect(unfinished.end(id) != nil) }
    }

    @Test("behind a balancer a source counts from when it is named")
    func attributed() {
        var unfinished = Unfinished(room: 4)
        _ = unfinished.begin(1, from: nil, on: self.channel)
        _ = unfinished.begin(2, from: nil, on: self.channel)
        _ = unfinished.begin(3, from: nil, on: self.channel)
        unfinished.attribute(2, to: self.sources[0])
        unfinished.attribute(3, to: self.sources[0])
        _ = unfinished.begin(4, from: nil, on: self.channel)
        #expect(unfinished.begin(5, from: nil, on: self.channel)?.id == 2)
        unfinished.attribute(99, to: self.sources[1])
        #expect(unfinished.count == 4)
    }

    @Test("those that have ended take no room, however many there were behind one that stays")
    func tidy() {
        var unfinished = Unfinished(room: 1_000)
        _ = unfinished.begin(1, from: self.sources[0], on: self.channel)
        for id in UInt64(2)...50_000 {
            #expect(unfinished.begin(id, from: self.sources[Int(id % 30)], on: self.channel) == nil)
            #expect(unfinished.end(id) != nil)
        }
        #expect(unfinished.waitingByteCount < 4_096)
        #expect(unfinished.end(1) != nil)
        #expect(unfinished.count == 0)
    }
}
