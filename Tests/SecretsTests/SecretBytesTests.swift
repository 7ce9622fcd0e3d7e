import Secrets
import Testing

/// Whether a type can be copied, and so printed: the overload for all types is taken only where the other does not fit.
private func canBeCopied<Value>(_: Value.Type) -> Bool { true }
private func canBeCopied<Value: ~Copyable>(_: Value.Type) -> Bool { false }

@Suite("Secret bytes")
struct SecretBytesTests {
    @Test("a PIN and a secret cannot be copied, and so neither printed nor compared with ==")
    func noncopyable() {
        #expect(!canBeCopied(PIN.self))
        #expect(!canBeCopied(SecretBytes.self))
        #expect(canBeCopied(Share.self))
    }

    @Test("equal only where every byte and the count are", arguments: [0, 1, 31, 32, 33, 1000])
    func equality(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let secret = SecretBytes(copying: bytes)
        let equalsItself = secret.isEqual(to: SecretBytes(copying: bytes))
        let equalsLonger = secret.isEqual(to: SecretBytes(copying: bytes + [0]))
        #expect(equalsItself && !equalsLonger)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            let equalsOther = secret.isEqual(to: SecretBytes(copying: other))
            #expect(!equalsOther)
            #expect(!constantTimeEqual(bytes, other))
        }
        #expect(constantTimeEqual(bytes, bytes))
        #expect(!constantTimeEqual(bytes, bytes + [0]))
    }

    @Test("joined in order, copied as they are")
    func concatenation() {
        let joined = SecretBytes(copying: [1, 2]).concatenated(with: SecretBytes(copying: [3]))
        let copied = joined.withBytes { SecretBytes(copying: $0).exposedBytes() }
        #expect(joined.exposedBytes() == [1, 2, 3])
        #expect(copied == [1, 2, 3])
        let empty = SecretBytes(copying: []).concatenated(with: SecretBytes(copying: [])).exposedBytes()
        #expect(empty == [])
    }

    @Test("random secrets have the length asked for and never repeat")
    func random() {
        let secrets = Set((0..<100).map { _ in SecretBytes.random(count: 32).exposedBytes() })
        #expect(secrets.count == 100)
        #expect(secrets.allSatisfy { $0.count == 32 })
    }
}

@Suite("Shares")
struct ShareTests {
    @Test("a share has 32 bytes and nothing else is one", arguments: [0, 31, 33, 64])
    func length(count: Int) {
        #expect(Share(copying: [UInt8](repeating: 7, count: count)) == nil)
        let made = Share(SecretBytes.random(count: count))
        #expect(made == nil)
    }

    @Test("a share shows its bytes in no kind of printing")
    func printing() throws {
        let share = try #require(Share(copying: [UInt8](repeating: 0xAB, count: 32)))
        var dumped = ""
        dump(share, to: &dumped)
        for text in ["\(share)", String(describing: share), String(reflecting: share), "\([share])", dumped] {
            #expect(text.contains("(share)"))
            #expect(!text.contains("171") && !text.lowercased().contains("ab, ab") && !text.contains("0x"))
        }
        #expect(Mirror(reflecting: share).children.isEmpty)
    }

    @Test("a wiped array is empty, and another holder's bytes are as they were")
    func wiping() {
        var bytes: [UInt8] = [1, 2, 3]
        let held = bytes
        bytes.wipe()
        #expect(bytes.isEmpty)
        #expect(held == [1, 2, 3])
    }

    @Test("shares are random and compared by their bytes")
    func identity() throws {
        let share = Share.random()
        let same = try #require(Share(copying: share.exposedBytes()))
        #expect(share.isEqual(to: same))
        #expect(!share.isEqual(to: Share.random()))
        let copy = share.copy().exposedBytes()
        #expect(copy == share.exposedBytes())
    }
}
