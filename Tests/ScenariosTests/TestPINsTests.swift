import Testing
import WalletFlows

@testable import Scenarios

@Suite("Test PINs of a recording")
struct TestPINsTests {
    private func recorded(_ typed: [String]) -> [String] {
        var pins = TestPINs()
        return typed.map { pins.text(for: PINInput(typed: $0.utf8)) }
    }

    @Test("the same PIN gets the same test PIN, and another PIN another one")
    func relations() {
        let pins = self.recorded(["480517", "639284", "480517", "639285", "639284"])
        #expect(pins[0] == pins[2] && pins[1] == pins[4] && Set(pins).count == 3)
        let many = self.recorded((100_000..<100_400).map { "\($0 * 7 % 1_000_000)" }.filter { $0.count == 6 })
        #expect(Set(many).count == many.count)
    }

    @Test("a test PIN breaks the same rule as the typed one", arguments: ["777777", "345678", "876543", "480517"])
    func weakness(typed: String) throws {
        let text = try #require(self.recorded([typed]).first)
        #expect(text != typed)
        guard case .complete(let entry) = PINInput(typed: typed.utf8),
            case .complete(let other) = PINInput(typed: text.utf8)
        else { throw WrongForm() }
        #expect(entry.brokenRule == other.brokenRule)
    }

    @Test("an input without six digits stays one for the same reason", arguments: ["4805", "48051x", "4805177", "٤٨٠"])
    func malformed(typed: String) throws {
        let text = try #require(self.recorded([typed]).first)
        guard case .malformed(let rule) = PINInput(typed: typed.utf8),
            case .malformed(let other) = PINInput(typed: text.utf8)
        else { throw WrongForm() }
        #expect(rule == other)
    }

    private struct WrongForm: Error {}
}
