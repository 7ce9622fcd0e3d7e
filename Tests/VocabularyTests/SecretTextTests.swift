import Testing
import Vocabulary

@Suite("Secrets and codes as they arrive")
struct SecretTextTests {
    private func text(_ input: [UInt8]) throws(SecretTextProblem) -> String {
        String(decoding: try SecretText.bytes(input, atMost: 9), as: UTF8.self)
    }

    @Test(
        "line ends and blanks at both ends are removed, and letters keep their case",
        arguments: ["Person-77", "Person-77\r\n", "\tPerson-77 ", "\r\n\n Person-77\r\r\n\n", "Person-77\n"]
    )
    func trimmed(input: String) throws {
        #expect(try self.text(Array(input.utf8)) == "Person-77")
    }

    @Test(
        "an input with any other character is rejected, and the reason names the first one in ASCII",
        arguments: [
            ("\u{FEFF}a", "a byte order mark (U+FEFF) at byte 1"), ("\u{200B}a", "U+200B at byte 1"),
            ("a b", "a blank (U+0020) at byte 2"), (" a\tb", "a blank (U+0009) at byte 3"),
            ("a\nb", "a line end (U+000A) at byte 2"), ("a\r\nb\n", "a line end (U+000D) at byte 2"),
            ("é", "U+00E9 at byte 1"), ("e\u{301}", "U+0301 at byte 2"), ("a\u{1F600}", "U+1F600 at byte 2"),
            ("a\u{0}", "U+0000 at byte 2"), ("a\u{1B}[2J", "U+001B at byte 2"), ("a\u{7F}", "U+007F at byte 2"),
            ("a\u{A0}", "U+00A0 at byte 2"), ("a\u{2028}", "U+2028 at byte 2"),
        ]
    )
    func rejected(input: String, reason: String) {
        #expect(self.problem(Array(input.utf8))?.description.hasPrefix("has \(reason); only visible ASCII") == true)
    }

    @Test("bytes that are not UTF-8, as in another encoding, are named by their value")
    func otherEncodings() {
        #expect(self.problem([0xFF, 0xFE, 0x61, 0])?.description.hasPrefix("has the byte 0xFF at byte 1") == true)
        #expect(self.problem([0x61, 0xE9])?.description.hasPrefix("has the byte 0xE9 at byte 2") == true)
    }

    @Test("an input without a text, or with a longer one, is rejected")
    func lengths() {
        for empty in ["", " ", "\r\n", "\n\t \n"] { #expect(self.problem(Array(empty.utf8)) == .empty) }
        #expect(self.problem(Array("1234567890".utf8)) == .tooLong(limit: 9))
        #expect(self.problem(Array("  123456789   \n".utf8)) == nil)
    }

    private func problem(_ input: [UInt8]) -> SecretTextProblem? {
        do throws(SecretTextProblem) { _ = try self.text(input) } catch { return error }
        return nil
    }
}

@Suite("The recovery code")
struct RecoveryCodeTests {
    @Test("a code is 1 to 128 visible ASCII characters, as on the wire")
    func bytes() {
        for value in UInt8.min...UInt8.max {
            #expect((RecoveryCode([0x61, value]) != nil) == (value > 0x20 && value < 0x7F), "\(value)")
        }
        #expect(RecoveryCode([]) == nil && RecoveryCode([UInt8](repeating: 0x61, count: 129)) == nil)
        #expect(RecoveryCode([UInt8](repeating: 0x61, count: 128)) != nil)
    }

    @Test("a code that is read has no blanks around it, and another case makes another code")
    func reading() throws {
        #expect(try RecoveryCode(reading: " person-77\r\n".utf8) == RecoveryCode("person-77".utf8))
        #expect(try RecoveryCode(reading: "Person-77".utf8) != RecoveryCode("person-77".utf8))
        #expect(throws: SecretTextProblem.tooLong(limit: 128)) {
            try RecoveryCode(reading: [UInt8](repeating: 0x61, count: 129))
        }
    }
}
