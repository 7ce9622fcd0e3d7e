import Evidence
import TestSupport
import Testing
import Vocabulary

@Suite("Strict CBOR")
struct CBORTests {
    @Test(
        "an item is decoded correctly and encoded to the same bytes",
        arguments: [
            ("00", .unsigned(0)), ("17", .unsigned(23)), ("1818", .unsigned(24)), ("190100", .unsigned(256)),
            ("1a00010000", .unsigned(65_536)), ("1b0000000100000000", .unsigned(4_294_967_296)),
            ("1bffffffffffffffff", .unsigned(.max)), ("20", .integer(-1)), ("26", .integer(-7)),
            ("3863", .integer(-100)), ("40", .bytes([])), ("43010203", .bytes([1, 2, 3])),
            ("63616263", .text("abc")), ("80", .array([])), ("820102", .array([.unsigned(1), .unsigned(2)])),
            ("a10102", .map([CBOR.Entry(.unsigned(1), .unsigned(2))])), ("f4", .boolean(false)),
            ("f5", .boolean(true)), ("f6", .null),
        ] as [(String, CBOR)]
    )
    func items(hex: String, item: CBOR) throws {
        let bytes = try #require([UInt8](hex: hex))
        #expect(try CBOR(decoding: bytes) == item)
        #expect(item.encoded == bytes)
    }

    @Test(
        "ambiguous encodings and lengths beyond the end are rejected with a specific error",
        arguments: [
            ("", .truncated), ("18", .truncated), ("43 0102", .truncated), ("82 01", .truncated),
            ("a1 01", .truncated), ("00 00", .trailingBytes(1)), ("1817", .notMinimal), ("1900ff", .notMinimal),
            ("1a0000ffff", .notMinimal), ("1b00000000ffffffff", .notMinimal), ("5801 00", .notMinimal),
            ("5f41004100ff", .indefiniteLength), ("9f00ff", .indefiniteLength), ("bfff", .indefiniteLength),
            ("a2 0102 0103", .duplicateKey), ("a2 616100 616101", .duplicateKey), ("61ff", .notUTF8),
            ("c000", .unsupported(0xC0)), ("f93c00", .unsupported(0xF9)), ("f7", .unsupported(0xF7)),
            ("ff", .unsupported(0xFF)), ("1c", .unsupported(0x1C)),
        ] as [(String, CBORError)]
    )
    func refusals(hex: String, reason: CBORError) throws {
        let bytes = try #require([UInt8](hex: hex.filter { $0 != " " }))
        #expect(throws: reason) { try CBOR(decoding: bytes) }
    }

    @Test(
        "an announced length reserves no memory and costs no time",
        arguments: ["9a04000000", "9bffffffffffffffff", "bb7fffffffffffffff", "5affffffff", "7bffffffffffffffff"]
    )
    func announcedLengths(hex: String) throws {
        let bytes = try #require([UInt8](hex: hex))
        #expect(throws: CBORError.truncated) { try CBOR(decoding: bytes) }
    }

    @Test("eight levels are read and nine are not")
    func depth() throws {
        let eight = Array(repeating: UInt8(0x81), count: 7) + [0x00]
        #expect(throws: Never.self) { try CBOR(decoding: eight) }
        #expect(throws: CBORError.tooDeep) { try CBOR(decoding: [0x81] + eight) }
        #expect(throws: CBORError.tooDeep) { try CBOR(decoding: Array(repeating: 0x81, count: 30_000)) }
    }

    @Test("an array of more items than any attestation has is rejected before all of them are held")
    func items() throws {
        let bytes: [UInt8] = [0x99, 0x75, 0x30] + Array(repeating: 0, count: 30_000)
        #expect(throws: CBORError.tooManyItems) { try CBOR(decoding: bytes) }
    }

    @Test(
        "random bytes are an item that encodes to the same bytes, or are rejected",
        arguments: 1...8 as ClosedRange<UInt64>
    )
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
            // The lenient decoder accepts what the strict one accepts, and knows it.
            let lenient = try? CBOR.items(leniently: bytes[...])
            guard let item = try? CBOR(decoding: bytes) else {
                #expect(lenient?.items.count != 1 || lenient?.isStrict == false, "seed \(seed)")
                continue
            }
            #expect(item.encoded == bytes, "seed \(seed)")
            #expect(lenient?.items == [item] && lenient?.isStrict == true, "seed \(seed)")
        }
    }
}
