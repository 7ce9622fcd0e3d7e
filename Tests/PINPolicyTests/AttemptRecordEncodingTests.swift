import PINPolicy
import Testing
import Vocabulary

@Suite("The encoding of attempt records")
struct AttemptRecordEncodingTests {
    private let start = Timestamp(milliseconds: 1_700_000_000_000)

    @Test("every record has the same length and decodes to itself")
    func roundTrip() {
        var record = AttemptRecord()
        var now = self.start
        for _ in 0..<20 {
            #expect(record.encoded().count == AttemptRecord.Form.first.byteCount)
            #expect(AttemptRecord(decoding: record.encoded()) == record)
            _ = record.wrong(at: now)
            now = now + .seconds(3600)
        }
        record.acquit()
        #expect(record.encoded().count == AttemptRecord.Form.first.byteCount)
    }

    @Test("the encoding of a known record does not change")
    func knownBytes() throws {
        var record = AttemptRecord()
        let attempt = try #require(AttemptID(hex: "000102030405060708090a0b0c0d0e0f"))
        for _ in 0..<3 { _ = record.wrong(at: self.start) }
        _ = record.wrong(at: self.start, attempt: attempt)
        #expect(
            record.encoded().hex == "0106" + "0004" + "0000018bcfe65260" + "000000000000ea60"
                + "000102030405060708090a0b0c0d0e0f" + "0004" + "0000018bcfe56800"
        )
        #expect(AttemptRecord().encoded().hex == "01" + String(repeating: "00", count: 45))
    }

    @Test(
        "bytes that this code cannot have written are rejected",
        arguments: [
            "",
            // Another length, and another form.
            "01" + String(repeating: "00", count: 35),
            "01" + String(repeating: "00", count: 44),
            "01" + String(repeating: "00", count: 46),
            "00" + String(repeating: "00", count: 45),
            "02" + String(repeating: "00", count: 45),
            // An unknown flag.
            "0108" + "0001" + String(repeating: "00", count: 42),
            // More wrong PINs than failures, and a time without a wrong PIN.
            "0100" + "0001" + String(repeating: "00", count: 32) + "0002" + "0000018bcfe65260",
            "0100" + "0001" + String(repeating: "00", count: 32) + "0000" + "0000018bcfe65260",
            // Blocked, or with an attempt, although none was counted.
            "0101" + String(repeating: "00", count: 44),
            "0104" + String(repeating: "00", count: 44),
            // A block of zero length, one of negative length, and one without its flag.
            "0102" + "0001" + "0000018bcfe65260" + String(repeating: "00", count: 34),
            "0102" + "0001" + "0000018bcfe65260" + "ffffffffffffffff" + String(repeating: "00", count: 26),
            "0100" + "0001" + "0000018bcfe65260" + String(repeating: "00", count: 34),
            // An attempt without its flag.
            "0100" + "0001" + String(repeating: "00", count: 31) + "01" + String(repeating: "00", count: 10),
        ]
    )
    func damaged(hex: String) throws {
        let bytes = try #require([UInt8](hex: hex))
        #expect(AttemptRecord(decoding: bytes) == nil)
    }
}
