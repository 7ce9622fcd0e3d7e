import Secrets
import Testing

@Suite("PINs")
struct PINTests {
    @Test(
        "only six ASCII digits are a PIN",
        arguments: [
            "", "1", "12345", "1234567", "12345a", "12 456", "-12345", "12345\n", "１２３４５６", "١٢٣٤٥٦", "123456\0",
        ]
    )
    func invalid(text: String) {
        let made = PIN(copying: Array(text.utf8)) != nil
        #expect(!made)
    }

    @Test("every policy rule rejects exactly the PINs that break it")
    func policy() async throws {
        var refused: [PIN.Weakness: [String]] = [:]
        for number in 0..<1_000_000 {
            // Other tests' timeouts run in the meantime.
            if number.isMultiple(of: 1000) { await Task.yield() }
            let text = String(repeating: "0", count: 6 - String(number).count) + String(number)
            guard let pin = PIN(copying: Array(text.utf8)) else {
                Issue.record("\(text) is six digits")
                return
            }
            if let weakness = pin.weakness() { refused[weakness, default: []].append(text) }
        }
        #expect(refused[.allDigitsEqual] == (0...9).map { String(repeating: "\($0)", count: 6) })
        #expect(refused[.ascending] == ["012345", "123456", "234567", "345678", "456789"])
        #expect(refused[.descending] == ["543210", "654321", "765432", "876543", "987654"])
    }

    @Test(
        "the policy permits other simple PINs",
        arguments: ["024791", "010101", "000001", "121212", "890123"]
    )
    func allowed(text: String) throws {
        guard let pin = PIN(copying: Array(text.utf8)) else { throw Missing() }
        let weakness = pin.weakness()
        #expect(weakness == nil)
    }

    @Test("two entries are equal only if every digit is equal")
    func equality() throws {
        guard let pin = PIN(copying: Array("024791".utf8)), let same = PIN(copying: Array("024791".utf8)),
            let other = PIN(copying: Array("024790".utf8))
        else { throw Missing() }
        let findings = [pin.isEqual(to: same), pin.isEqual(to: pin.copy()), pin.isEqual(to: other)]
        #expect(findings == [true, true, false])
        let material = pin.keyMaterial(salt: SecretBytes(copying: [9])).exposedBytes()
        #expect(material == [9] + Array("024791".utf8))
    }

    private struct Missing: Error {}
}
