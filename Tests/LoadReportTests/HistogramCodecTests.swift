import Foundation
import TestSupport
import Testing
import Zlib

@testable import LoadReport

@Suite("Histograms as HdrHistogram encodes them")
struct HistogramCodecTests {
    /// From HdrHistogram for Python 0.10.3, `HdrHistogram(1, 3600000000, 3)`: value and count as in ``known``.
    static let foreign = "HISTFAAAADV4nJNpmSzMwMAgwgABzFCaEURcm7yEwf4DRICJ5ac8GwfXb/8HRzk2ctxg2fiJkQkA94IMAw=="
    static let known: [(value: UInt64, count: UInt64)] = [
        (0, 1), (1, 2), (2047, 3), (2048, 4), (2050, 5), (65_536, 70_000), (100_000, 300), (3_600_000_000, 1),
    ]

    private static func latencies(_ pairs: [(value: UInt64, count: UInt64)]) -> Latencies {
        Latencies(
            cells: pairs.map {
                Latencies.Cell(value: CellIndex.highestValue(at: CellIndex.index(of: $0.value)), count: $0.count)
            }
        )
    }

    @Test("what HdrHistogram encoded is read, and what is written differs in nothing that is not compression")
    func foreignHistogram() throws {
        #expect(try HistogramCodec.latencies(in: Self.foreign) == Self.latencies(Self.known))
        let theirs = try #require(Data(base64Encoded: Self.foreign)).dropFirst(8)
        let ours = HistogramCodec.encoded(Self.latencies(Self.known)).dropFirst(8)
        #expect(
            try Zlib.decompressed([UInt8](theirs), atMost: 1 << 20) == Zlib.decompressed([UInt8](ours), atMost: 1 << 20)
        )
    }

    @Test("what is written comes back, whatever it counts", arguments: 1...40 as ClosedRange<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var pairs: [UInt64: UInt64] = [:]
        for _ in 0..<Int.random(in: 0...300, using: &generator) {
            let value = UInt64.random(
                in: 0...(Latencies.highest >> UInt64.random(in: 0...31, using: &generator)),
                using: &generator
            )
            let cell = CellIndex.highestValue(at: CellIndex.index(of: value))
            pairs[cell] =
                1 + UInt64.random(in: 0...(1 << UInt64.random(in: 0...53, using: &generator)), using: &generator)
        }
        let latencies = Self.latencies(pairs.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        #expect(try HistogramCodec.latencies(in: HistogramCodec.text(latencies)) == latencies, "seed \(seed)")
    }

    @Test(
        "each number has HdrHistogram's length and comes back",
        arguments: [
            (0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (8191, 2), (8192, 3), (1 << 40, 6), (Int64.max, 9),
            (Int64.min, 9),
        ] as [(Int64, Int)]
    )
    func numbers(value: Int64, length: Int) {
        var bytes: [UInt8] = []
        bytes.append(zigZag: value)
        #expect(bytes.count == length)
        var reader = ByteReader(bytes)
        #expect(reader.readZigZag() == value && reader.isAtEnd)
    }

    /// A histogram's outer and inner form with fields of one's own.
    private static func text(
        cookie: UInt32 = 0x1C84_9314,
        inner: UInt32 = 0x1C84_9313,
        offset: UInt32 = 0,
        digits: UInt32 = 3,
        lowest: UInt64 = 1,
        payload: [Int64] = [],
        payloadLength: UInt32? = nil,
        cut: Int = 0
    ) -> String {
        var counts: [UInt8] = []
        for count in payload { counts.append(zigZag: count) }
        var bytes: [UInt8] = []
        bytes.append(bigEndian: inner)
        bytes.append(bigEndian: payloadLength ?? UInt32(counts.count))
        bytes.append(bigEndian: offset)
        bytes.append(bigEndian: digits)
        bytes.append(bigEndian: lowest)
        bytes.append(bigEndian: Latencies.highest)
        bytes.append(bigEndian: 1.0.bitPattern)
        let compressed = Zlib.compressed((bytes + counts).dropLast(cut))
        var outer: [UInt8] = []
        outer.append(bigEndian: cookie)
        outer.append(bigEndian: UInt32(compressed.count))
        return Data(outer + compressed).base64EncodedString()
    }

    @Test("the hand-made form itself is read")
    func handMade() throws {
        #expect(try HistogramCodec.latencies(in: Self.text(payload: [-5, 7])) == Self.latencies([(5, 7)]))
    }

    @Test(
        "each malformed histogram is refused for its own reason",
        arguments: [
            ("?", .notBase64), ("", .wrongCookie), (text(cookie: 0x1C84_9304), .wrongCookie),
            (text(inner: 1), .wrongCookie),
            (text(cut: 1), .truncated), (text(payload: [1], payloadLength: 2), .truncated),
            (text(offset: 1), .otherLayout),
            (text(digits: 2), .otherLayout), (text(lowest: 1000), .otherLayout),
            (text(payload: [Int64(-CellIndex.count), 1]), .tooManyCells), (text(payload: [.min, 1]), .tooManyCells),
            (text(payload: [-1, Int64(1 - CellIndex.count), 0, 0]), .tooManyCells),
            (text(payload: [.max, .max]), .tooManyCells), ("HISTFAAAAAB4nA==", .notZlib),
            ("HISTFAAAACF4nJNpmSzMwMDAxAABMJoRRFybvITB/gNEgJMJAFonBJM=", .otherLayout),
        ] as [(String, HistogramCodecError)]
    )
    func malformed(text: String, reason: HistogramCodecError) {
        #expect(throws: reason) { try HistogramCodec.latencies(in: text) }
    }

    @Test("no damage to a histogram's bytes ends the program")
    func damage() throws {
        var generator = SeededGenerator(seed: 99)
        let bytes = HistogramCodec.encoded(Self.latencies(Self.known))
        for _ in 0..<2000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                damaged[Int.random(in: damaged.indices, using: &generator)] = UInt8.random(
                    in: 0...255,
                    using: &generator
                )
            }
            damaged.removeLast(Int.random(in: 0...3, using: &generator))
            // zlib's checksum finds most of it; what it does not is still a histogram.
            _ = try? HistogramCodec.decoded(damaged)
        }
    }
}
