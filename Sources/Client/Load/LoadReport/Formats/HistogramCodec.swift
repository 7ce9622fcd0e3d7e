internal import FoundationEssentials
internal import Zlib

/// The encoding in which HdrHistogram's tools exchange histograms: V2, compressed, in base64.
///
/// An outer header (cookie, length) and zlib around an inner header of 40 bytes and the counts: ZigZag LEB128 of each cell's count up to
/// the last that is not 0; a negative number stands for so many cells of 0. All fixed fields are big-endian.
enum HistogramCodec {
    /// HdrHistogram: V2CompressedEncodingCookieBase, with the word size's nibble that V2 says to be 1.
    private static let compressedCookie: UInt32 = 0x1C84_9304 | 0x10
    /// HdrHistogram: V2EncodingCookieBase, likewise.
    private static let cookie: UInt32 = 0x1C84_9303 | 0x10
    /// HdrHistogram: ENCODING_HEADER_SIZE.
    private static let headerLength = 40
    private static let digits: UInt32 = 3
    /// The most that a count takes in LEB128 as HdrHistogram has it: the ninth byte holds eight bits.
    private static let longestCount = 9

    /// The text that stands in an interval log and in the JSON.
    static func text(_ latencies: Latencies) -> String {
        Data(Self.encoded(latencies)).base64EncodedString()
    }

    /// What a text of the same kind holds.
    static func latencies(in text: some StringProtocol) throws(HistogramCodecError) -> Latencies {
        guard let data = Data(base64Encoded: String(text)) else { throw .notBase64 }
        return try Self.decoded([UInt8](data))
    }

    static func encoded(_ latencies: Latencies) -> [UInt8] {
        let counts = Self.counts(latencies)
        var inner: [UInt8] = []
        inner.append(bigEndian: Self.cookie)
        inner.append(bigEndian: UInt32(counts.count))
        inner.append(bigEndian: 0 as UInt32)  // The normalizing index offset: only histograms that shift have one.
        inner.append(bigEndian: Self.digits)
        inner.append(bigEndian: 1 as UInt64)
        inner.append(bigEndian: Latencies.highest)
        inner.append(bigEndian: 1.0.bitPattern)
        let compressed = Zlib.compressed(inner + counts)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: Self.compressedCookie)
        bytes.append(bigEndian: UInt32(compressed.count))
        return bytes + compressed
    }

    static func decoded(_ bytes: [UInt8]) throws(HistogramCodecError) -> Latencies {
        var outer = ByteReader(bytes)
        guard outer.read(UInt32.self) == Self.compressedCookie else { throw .wrongCookie }
        guard let length = outer.read(UInt32.self), let compressed = outer.read(count: Int(length)) else {
            throw .truncated
        }
        let inner: [UInt8]
        do {
            let limit = Self.headerLength + CellIndex.count * Self.longestCount
            inner = try Zlib.decompressed(compressed, atMost: limit)
        } catch { throw .notZlib }
        var reader = ByteReader(inner)
        guard reader.read(UInt32.self) == Self.cookie else { throw .wrongCookie }
        guard let payload = reader.read(UInt32.self), let offset = reader.read(UInt32.self),
            let digits = reader.read(UInt32.self), let lowest = reader.read(UInt64.self),
            reader.read(UInt64.self) != nil, let ratio = reader.read(UInt64.self)
        else { throw .truncated }
        guard offset == 0, digits == Self.digits, lowest == 1, ratio == 1.0.bitPattern else { throw .otherLayout }
        guard let counts = reader.read(count: Int(payload)) else { throw .truncated }
        return try Self.latencies(ofCounts: counts)
    }

    private static func counts(_ latencies: Latencies) -> [UInt8] {
        var bytes: [UInt8] = []
        var next = 0
        for cell in latencies.cells {
            let index = CellIndex.index(of: cell.value)
            if index > next { bytes.append(zigZag: Int64(next - index)) }
            bytes.append(zigZag: Int64(clamping: cell.count))
            next = index + 1
        }
        return bytes
    }

    private static func latencies(ofCounts bytes: [UInt8]) throws(HistogramCodecError) -> Latencies {
        var reader = ByteReader(bytes)
        var cells: [Latencies.Cell] = []
        var total: UInt64 = 0
        var index = 0
        while !reader.isAtEnd {
            guard let count = reader.readZigZag() else { throw .truncated }
            if count < 0 {
                guard count.magnitude <= UInt64(CellIndex.count - index) else { throw .tooManyCells }
                index += Int(count.magnitude)
                continue
            }
            guard index < CellIndex.count else { throw .tooManyCells }
            if count > 0 {
                let (sum, overflow) = total.addingReportingOverflow(UInt64(count))
                guard !overflow, sum <= UInt64(Int64.max) else { throw .tooManyCells }
                total = sum
                cells.append(Latencies.Cell(value: CellIndex.highestValue(at: index), count: UInt64(count)))
            }
            index += 1
        }
        return Latencies(cells: cells)
    }
}

/// Why a text is no histogram of ours; the caller says which line or field it stood in.
package enum HistogramCodecError: Error, Equatable, Sendable {
    case notBase64
    /// The bytes do not begin as V2, compressed.
    case wrongCookie
    case truncated
    case notZlib
    /// Other digits, another unit or a shift: a histogram, but of another program.
    case otherLayout
    /// Counts for more cells than there are, or of more samples than can be counted.
    case tooManyCells
}

/// Where a value's count stands in a histogram of three digits and unit 1.
///
/// The package keeps this to itself. The 0th of the buckets has 2,048 cells of width 1, each further one 1,024 of twice the width.
enum CellIndex {
    private static let halfBits = 10
    private static let half = 1 << Self.halfBits

    /// So many there are up to ``Latencies/highest``.
    static let count: Int = {
        var buckets = 1
        var beyond = UInt64(2 * half)
        while beyond <= Latencies.highest {
            beyond <<= 1
            buckets += 1
        }
        return (buckets + 1) * half
    }()

    static func index(of value: UInt64) -> Int {
        let bucket = UInt64.bitWidth - Self.halfBits - 1 - (value | UInt64(2 * Self.half - 1)).leadingZeroBitCount
        return (bucket << Self.halfBits) + Int(value >> bucket)
    }

    /// The largest value that is counted in this cell.
    static func highestValue(at index: Int) -> UInt64 {
        let bucket = max(0, (index >> Self.halfBits) - 1)
        return (UInt64(index - (bucket << Self.halfBits)) + 1) << bucket - 1
    }

    /// The values that are counted together with this one.
    static func range(of value: UInt64) -> ClosedRange<UInt64> {
        let bucket = UInt64.bitWidth - Self.halfBits - 1 - (value | UInt64(2 * Self.half - 1)).leadingZeroBitCount
        let lowest = (value >> bucket) << bucket
        return lowest...(lowest + (1 << bucket) - 1)
    }

    /// The middle of these, rounded up as HdrHistogram does for means.
    static func middle(of value: UInt64) -> UInt64 {
        let range = Self.range(of: value)
        return range.lowerBound + (range.upperBound - range.lowerBound + 1) >> 1
    }
}
