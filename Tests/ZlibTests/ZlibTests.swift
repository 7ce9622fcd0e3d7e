import TestSupport
import Testing
import Zlib

@Suite("Compression")
struct ZlibTests {
    /// What Python's `zlib.compress(b"wallet wallet wallet")` gives.
    static let known: [UInt8] = [
        0x78, 0x9C, 0x2B, 0x4F, 0xCC, 0xC9, 0x49, 0x2D, 0x51, 0x28, 0x47, 0xA6, 0x00, 0x52, 0x94, 0x07, 0xDC,
    ]

    @Test("what others compressed is read")
    func knownAnswer() throws {
        let bytes = try Zlib.decompressed(Self.known, atMost: 1000)
        #expect(String(decoding: bytes, as: UTF8.self) == "wallet wallet wallet")
    }

    @Test("what is compressed comes back, whatever it is", arguments: [0, 1, 255, 256, 257, 4096, 100_000])
    func roundTrip(length: Int) throws {
        var generator = SeededGenerator(seed: UInt64(length) + 7)
        for alphabet: UInt8 in [1, 2, 255] {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...alphabet, using: &generator) }
            #expect(try Zlib.decompressed(Zlib.compressed(bytes), atMost: max(length, 1)) == bytes)
        }
    }

    @Test("more than the limit never comes out, however few bytes promise it")
    func bomb() {
        let bomb = Zlib.compressed([UInt8](repeating: 0, count: 10_000_000))
        #expect(bomb.count < 20_000)
        #expect(throws: ZlibError.truncatedOrTooLong) { try Zlib.decompressed(bomb, atMost: 9_999_999) }
    }

    @Test("every cut and every changed bit of the checksum is noticed")
    func damage() {
        for end in Self.known.indices {
            #expect(throws: ZlibError.self) { try Zlib.decompressed(Array(Self.known[..<end]), atMost: 1000) }
        }
        for bit in 0..<32 {
            var bytes = Self.known
            bytes[bytes.count - 1 - bit / 8] ^= 1 << (bit % 8)
            #expect(throws: ZlibError.malformed) { try Zlib.decompressed(bytes, atMost: 1000) }
        }
    }
}
