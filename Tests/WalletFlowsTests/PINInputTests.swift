import Foundation
import HostSystem
import Secrets
import Testing
import Vocabulary
import WalletFlows

@Suite("The characters typed into a PIN input")
struct PINInputTests {
    /// The zeros of all scripts in this Swift's version of Unicode, found without their values.
    private static let zeros: [Unicode.Scalar] = {
        let digits = (UInt32(0)...0x10FFFF).compactMap(Unicode.Scalar.init)
            .filter { $0.properties.generalCategory == .decimalNumber }
        return digits.filter { digit in digit.properties.name?.hasSuffix("DIGIT ZERO") == true }
    }()

    private static func text(_ digits: some Sequence<UInt8>, in zero: Unicode.Scalar) -> String {
        String(String.UnicodeScalarView(digits.compactMap { Unicode.Scalar(zero.value + UInt32($0 - 0x30)) }))
    }

    /// The bytes from which all keys of an input are derived, or nil without six digits.
    private static func digits(_ input: PINInput) -> [UInt8]? {
        guard case .complete(let entry) = input else { return nil }
        return entry.withPIN { $0.keyMaterial(salt: SecretBytes(copying: [])).exposedBytes() }
    }

    private static func rule(_ input: PINInput) -> PINRule? {
        guard case .malformed(let rule) = input else { return nil }
        return rule
    }

    @Test("the digits of every script are the ASCII digits of the same value")
    func scripts() {
        #expect(Self.zeros.count >= 70)
        for zero in Self.zeros {
            for pin in ["024791", "356812"] {
                let typed = Self.text(pin.utf8, in: zero)
                #expect(Self.digits(PINInput(typed: typed.utf8)) == Array(pin.utf8), "\(zero.value)")
                let line = SecretBytes(copying: " \(typed)\r".utf8)
                let read = line.withBytes { try? PINInput(line: $0) }
                #expect(read.flatMap(Self.digits) == Array(pin.utf8), "\(zero.value)")
            }
            #expect(Self.rule(PINInput(typed: Self.text("024".utf8, in: zero).utf8)) == .sixCharacters)
        }
    }

    @Test("no other number or letter is a digit")
    func others() {
        let known = Set(Self.zeros.flatMap { zero in (0..<10).map { zero.value + $0 } })
        for scalar in (UInt32(0)...0x10FFFF).compactMap(Unicode.Scalar.init) where !known.contains(scalar.value) {
            #expect(scalar.decimalDigit == nil, "\(scalar.value)")
        }
    }

    @Test("digits of several scripts may be mixed, and the rules for a new PIN apply to their values")
    func mixed() {
        #expect(Self.digits(PINInput(typed: "0٢४７𝟗1".utf8)) == Array("024791".utf8))
        for (typed, rule) in [("1١१１𝟏1", PINRule.differentDigits), ("1٢३４𝟓6", .notAscending)] {
            guard case .complete(let entry) = PINInput(typed: typed.utf8) else {
                Issue.record("\(typed) has six digits")
                continue
            }
            #expect(entry.brokenRule == rule)
        }
    }

    @Test(
        "six characters with another one break the rule of digits, and any other number the rule of six",
        arguments: [
            ("12345½", PINRule.digitsOnly), ("12345Ⅵ", .digitsOnly), ("12345六", .digitsOnly), ("12345²", .digitsOnly),
            ("12345é", .digitsOnly), ("1234é", .sixCharacters), ("१२३", .sixCharacters), ("१२३४५६७", .sixCharacters),
            ("", .sixCharacters),
        ]
    )
    func malformed(typed: String, rule: PINRule) {
        #expect(Self.rule(PINInput(typed: typed.utf8)) == rule)
    }

    @Test("bytes that are not UTF-8 are not digits, also if they could begin or continue one")
    func invalidBytes() {
        for byte in UInt8(0x80)...0xFF {
            #expect(Self.rule(PINInput(typed: Array("12345".utf8) + [byte])) == .digitsOnly, "\(byte)")
            #expect(Self.digits(PINInput(typed: [byte] + Array("12345".utf8))) == nil, "\(byte)")
        }
        #expect(Self.rule(PINInput(typed: Array("12345".utf8) + [0xF0, 0x9D, 0x9F])) != nil)
        // U+0031 in two bytes, which UTF-8 does not permit.
        #expect(Self.digits(PINInput(typed: Array("02479".utf8) + [0xC0, 0xB1])) == nil)
    }

    @Test("a line of a file may have line ends and blanks around the PIN, and any other character is named")
    func lines() throws {
        func problem(_ line: String) -> String? {
            SecretBytes(copying: line.utf8).withBytes { bytes in
                do throws(SecretTextProblem) { _ = try PINInput(line: bytes) } catch { return error.description }
                return nil
            }
        }
        for line in ["024791\r", "\t024791 ", " ٠٢٤٧٩١\r\n"] { #expect(problem(line) == nil) }
        #expect(problem("\u{FEFF}024791")?.hasPrefix("has a byte order mark (U+FEFF) at byte 1") == true)
        #expect(problem("024 791")?.hasPrefix("has a blank (U+0020) at byte 4") == true)
        #expect(problem("٠٢٤\u{200B}٧٩١")?.hasPrefix("has U+200B at byte 7") == true)
    }

    private struct Vectors: Decodable {
        struct PINKey: Decodable {
            let pin, salt, wide: String
            let typed: [String]
        }
        let pin_keys: [PINKey]
    }

    @Test("the PIN key of digits in another script is that of the ASCII digits, as in docs/protocol-vectors.json")
    func vectors() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/protocol-vectors.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
        for vector in vectors.pin_keys {
            #expect(vector.typed.count >= 4)
            let salt = try #require([UInt8](hex: vector.salt))
            for typed in vector.typed + [vector.pin] {
                guard case .complete(let entry) = PINInput(typed: typed.utf8) else {
                    Issue.record("\(typed) has six digits")
                    continue
                }
                let wide = entry.withPIN { pin in
                    pin.keyMaterial(salt: SecretBytes(copying: salt))
                        .hkdfSHA256(info: Array("remote-pin/1 pin key".utf8), count: 48).exposedBytes().hex
                }
                #expect(wide == vector.wide)
            }
        }
    }
}
