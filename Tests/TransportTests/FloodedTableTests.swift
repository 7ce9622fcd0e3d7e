import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import Transport

/// Phones and a flood that share a table, in simulated time.
///
/// The table has 400 places, 100 for each source, and the flood 45 connections per second: the default limits and 1,125
/// per second at a scale of 1 to 25. The phones are those of a mobile operator with one address, about 20 of which are
/// connected and without a session at a time, and others with an address each.
private struct FloodedTable {
    struct Phones: Hashable {
        let isShared: Bool
        /// The time until the session opens or the registration is complete.
        let seconds: Double
        let perSecond: Double
    }

    struct Flood {
        /// The number of source addresses, or nil if each connection has another one.
        var sources: Int?
        var perSecond = 45.0
        /// The time after which a connection ends if it was not displaced: the idle limit, the longer one after
        /// BeginEnrollment, or less if the flood closes it.
        var seconds = 15.0
        /// Puts all sources into one IPv6 /48.
        var isNetwork = false
        /// Adds five minutes before, in which the flood and peers behind the shared address hold connections.
        var isPrepared = false
    }

    static let unlock = Phones(isShared: true, seconds: 0.4, perSecond: 4.5)
    static let unlockAlone = Phones(isShared: false, seconds: 0.4, perSecond: 5.9)
    static let slowUnlockAlone = Phones(isShared: false, seconds: 3, perSecond: 1)
    static let enrollment = Phones(isShared: true, seconds: 12, perSecond: 0.7)
    static let enrollmentAlone = Phones(isShared: false, seconds: 12, perSecond: 0.6)
    private static let phones = [
        unlock, unlockAlone, slowUnlockAlone, enrollment, enrollmentAlone,
        Phones(isShared: true, seconds: 3, perSecond: 2.8),
    ]
    private static let (places, perSource, tick) = (400, 100, 0.01)

    private let flood: Flood
    private let channel: EmbeddedChannel
    private var generator = SeededGenerator(seed: 47)
    private var pending = PendingConnections(capacity: places)
    private var open: [UInt64: PeerSource] = [:]
    private var bySource: [PeerSource: Int] = [:]
    private var lastID: UInt64 = 0
    private var ends: [Int: [(id: UInt64, phones: Phones?)]] = [:]
    private var begun: [Phones: Int] = [:]
    private var served: [Phones: Int] = [:]

    /// Returns the share of the phones of each kind whose first connection is not displaced, in percent.
    static func served(_ flood: Flood, on channel: EmbeddedChannel) -> [Phones: Double] {
        var table = Self(flood: flood, channel: channel)
        let start = flood.isPrepared ? -360.0 : -60.0
        for index in Int(start / Self.tick)...Int(90 / Self.tick) { table.step(index) }
        return table.begun.reduce(into: [:]) { shares, begun in
            shares[begun.key] = 100 * Double(table.served[begun.key] ?? 0) / Double(begun.value)
        }
    }

    private init(flood: Flood, channel: EmbeddedChannel) {
        (self.flood, self.channel) = (flood, channel)
    }

    private mutating func step(_ index: Int) {
        for end in self.ends.removeValue(forKey: index) ?? [] where self.close(end.id) {
            if let phones = end.phones { self.served[phones, default: 0] += 1 }
        }
        let seconds = Double(index) * Self.tick
        let isPreparation = seconds < -60
        for _ in 0..<self.arrivals(isPreparation ? 5 : self.flood.perSecond) {
            self.begin(self.floodSource(), index, for: self.flood.seconds)
        }
        if isPreparation {
            for _ in 0..<self.arrivals(1) { self.begin(Self.shared, index, for: 60) }
            return
        }
        for phones in Self.phones {
            for _ in 0..<self.arrivals(phones.perSecond) {
                let isMeasured = seconds >= 0 && seconds + phones.seconds < 90
                if isMeasured { self.begun[phones, default: 0] += 1 }
                let source = phones.isShared ? Self.shared : Self.source(100, self.random(1 << 24))
                self.begin(source, index, for: phones.seconds, isMeasured ? phones : nil)
            }
        }
    }

    private mutating func begin(_ source: PeerSource, _ index: Int, for seconds: Double, _ phones: Phones? = nil) {
        guard self.bySource[source, default: 0] < Self.perSource else { return }
        self.lastID += 1
        let now = NIODeadline.uptimeNanoseconds(UInt64(Double(index + 100_000) * Self.tick * 1e9))
        if let gone = self.pending.begin(self.lastID, from: source, on: self.channel, at: now) {
            _ = self.forget(gone.id)
        }
        self.open[self.lastID] = source
        self.bySource[source, default: 0] += 1
        self.ends[index + Int(seconds / Self.tick), default: []].append((self.lastID, phones))
    }

    /// Ends a connection, and returns false if it was displaced.
    private mutating func close(_ id: UInt64) -> Bool {
        guard self.forget(id) else { return false }
        return self.pending.end(id) != nil
    }

    private mutating func forget(_ id: UInt64) -> Bool {
        guard let source = self.open.removeValue(forKey: id) else { return false }
        self.bySource[source, default: 0] -= 1
        return true
    }

    /// Returns the number of arrivals in a tick, at most two, with the given rate on average.
    private mutating func arrivals(_ perSecond: Double) -> Int {
        (0..<2).count { _ in Double.random(in: 0..<1, using: &self.generator) < perSecond * Self.tick / 2 }
    }

    private mutating func random(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self.generator) }

    private mutating func floodSource() -> PeerSource {
        let number = self.random(self.flood.sources ?? 1 << 16)
        guard self.flood.isNetwork else { return Self.source(16, number << 8) }
        return Self.source("2001:db8:7:\(String(number, radix: 16))::")
    }

    private static let shared = source(192, 1)

    /// Returns the source of an IPv4 address, given its first byte and its other bytes.
    private static func source(_ first: Int, _ rest: Int) -> PeerSource {
        Self.source("\(first).\(rest >> 16).\(rest >> 8 & 255).\(rest & 255)")
    }

    private static func source(_ address: String) -> PeerSource { PeerSource(address: address) ?? PeerSource(nil) }
}

@Suite("Phones beside a flood that fills the table")
final class FloodedTableTests {
    private let channel = EmbeddedChannel()

    // An unfinished channel and its pipeline hold each other.
    deinit { _ = try? self.channel.finish(acceptAlreadyClosed: true) }

    /// Expects that a flood lets at least this share of the phones' first connections finish, in percent.
    private func expect(_ percent: Double, of phones: [FloodedTable.Phones], beside flood: FloodedTable.Flood) {
        let served = FloodedTable.served(flood, on: self.channel)
        for phones in phones { #expect(served[phones] ?? 0 >= percent, "\(phones), \(flood)") }
    }

    @Test(
        "99 % of the unlocks succeed at the first try, behind a shared address too",
        arguments: [1, 4, 8, 16, 64, 256, nil],
        [8.0, 45]
    )
    func unlocks(sources: Int?, perSecond: Double) {
        let phones = [FloodedTable.unlock, FloodedTable.unlockAlone, FloodedTable.slowUnlockAlone]
        // The flood begins enrollments, or it closes its connections before they become the oldest.
        for (seconds, isPrepared) in [(60.0, true), (7, false)] {
            let flood = FloodedTable.Flood(
                sources: sources,
                perSecond: perSecond,
                seconds: seconds,
                isPrepared: isPrepared
            )
            self.expect(99, of: phones, beside: flood)
        }
    }

    @Test("95 % of the enrollments of 12 s keep their connection beside a flood from four sources", arguments: [1, 4])
    func enrollments(sources: Int) {
        for (seconds, isPrepared) in [(15.0, false), (60, false), (60, true)] {
            let flood = FloodedTable.Flood(sources: sources, seconds: seconds, isPrepared: isPrepared)
            self.expect(95, of: [FloodedTable.enrollment, FloodedTable.enrollmentAlone], beside: flood)
        }
    }

    @Test(
        "95 % of the enrollments of 12 s from other addresses do so beside a flood from 64",
        arguments: [16, 64]
    )
    func enrollmentsAlone(sources: Int) {
        self.expect(95, of: [FloodedTable.enrollmentAlone], beside: FloodedTable.Flood(sources: sources, seconds: 60))
    }

    @Test("the same holds beside a flood from all sources of one network")
    func network() {
        let flood = FloodedTable.Flood(seconds: 60, isNetwork: true)
        self.expect(95, of: [FloodedTable.unlock, FloodedTable.enrollmentAlone], beside: flood)
    }
}
