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
            #expect(record.encoded().count == AttemptRecord.byteCount)
            #expect(AttemptRecord(decoding: record.encoded()) == record)
            _ = record.wrong(at: now)
            now = now + .seconds(3600)
        }
        record.acquit()
        #expect(record.encoded().count == AttemptRecord.byteCount)
    }

    @Test("the encoding of a known record does not change")
    func knownBytes() throws {
        var record = AttemptRecord()
        let attempt = try #require(AttemptID(hex: "000102030405060708090a0b0c0d0e0f"))
        for _ in 0..<3 { _ = record.wrong(at: self.start) }
        _ = record.wrong(at: self.start, attempt: attempt)
        #expect(
            record.encoded().hex == "0206" + "0004" + "0000018bcfe65260" + "000000000000ea60"
                + "000102030405060708090a0b0c0d0e0f" + "0004" + "0000018bcfe56800"
        )
        #expect(AttemptRecord().encoded().hex == "02" + String(repeating: "00", count: 45))
    }

    @Test("a record of version 1 keeps its failures; its wrong PINs are unknown, since it may hold a restore's charges")
    func firstVersion() throws {
        var record = AttemptRecord()
        for _ in 0..<4 { _ = record.wrong(at: self.start, attempt: .random()) }
        let bytes = [1] + record.encoded()[1..<36]
        let read = try #require(AttemptRecord(decoding: bytes))
        #expect(read.failures == 4 && read.block == record.block && read.lastWrongAttempt == record.lastWrongAttempt)
        #expect(read.wrongPINs == 0 && read.lastWrong == nil)
        #expect(AttemptRecord(decoding: read.encoded()) == read)
    }

    @Test(
        "bytes that this code cannot have written are rejected",
        arguments: [
            "",
            "01" + String(repeating: "00", count: 34),
            "01" + String(repeating: "00", count: 36),
            "00" + String(repeating: "00", count: 35),
            "02" + String(repeating: "00", count: 35),
            "01" + String(repeating: "00", count: 45),
            "03" + String(repeating: "00", count: 45),
            "02" + String(repeating: "00", count: 46),
            "0108" + "0001" + String(repeating: "00", count: 32),
            // More wrong PINs than failures, and a time without a wrong PIN.
            "0200" + "0001" + String(repeating: "00", count: 32) + "0002" + "0000018bcfe65260",
            "0200" + "0001" + String(repeating: "00", count: 32) + "0000" + "0000018bcfe65260",
            // Blocked, or with an attempt, although none was counted.
            "0101" + String(repeating: "00", count: 34),
            "0104" + String(repeating: "00", count: 34),
            // A block of zero length, one of negative length, and one without its flag.
            "0102" + "0001" + "0000018bcfe65260" + String(repeating: "00", count: 24),
            "0102" + "0001" + "0000018bcfe65260" + "ffffffffffffffff" + String(repeating: "00", count: 16),
            "0100" + "0001" + "0000018bcfe65260" + String(repeating: "00", count: 24),
            "0100" + "0001" + String(repeating: "00", count: 31) + "01",
        ]
    )
    func damaged(hex: String) throws {
        let bytes = try #require([UInt8](hex: hex))
        #expect(AttemptRecord(decoding: bytes) == nil)
    }
}
