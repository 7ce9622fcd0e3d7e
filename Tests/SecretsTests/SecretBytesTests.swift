import Secrets
import Testing

/// Returns true if a type can be copied and printed: the compiler prefers the first overload, for
/// copyable types.
private func canBeCopied<Value>(_: Value.Type) -> Bool { true }
private func canBeCopied<Value: ~Copyable>(_: Value.Type) -> Bool { false }

@Suite("Secret bytes")
struct SecretBytesTests {
    @Test("a PIN and a secret cannot be copied, and therefore not printed or compared with ==")
    func noncopyable() {
        #expect(!canBeCopied(PIN.self))
        #expect(!canBeCopied(SecretBytes.self))
        #expect(canBeCopied(Share.self))
    }

    @Test("secrets are equal only if every byte and the count are equal", arguments: [0, 1, 31, 32, 33, 1000])
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

    @Test("received bytes are wiped for all holders of their storage")
    func wipedBuffer() {
        let received = (1...100).map { UInt8($0) }
        let pooled = received
        received[10..<20].wipeShared()
        #expect(pooled[10..<20].allSatisfy { $0 == 0 } && pooled[9] == 10 && pooled[20] == 21)
        received.wipeShared()
        #expect(pooled.allSatisfy { $0 == 0 } && pooled.count == 100)
        [UInt8]().wipeShared()
    }

    @Test("concatenation keeps the order, and a copy has the same bytes")
    func concatenation() {
        let joined = SecretBytes(copying: [1, 2]).concatenated(with: SecretBytes(copying: [3]))
        let copied = joined.withBytes { SecretBytes(copying: $0).exposedBytes() }
        #expect(joined.exposedBytes() == [1, 2, 3])
        #expect(copied == [1, 2, 3])
        let empty = SecretBytes(copying: []).concatenated(with: SecretBytes(copying: [])).exposedBytes()
        #expect(empty == [])
    }

    @Test("random secrets have the requested length and never repeat")
    func random() {
        let secrets = Set((0..<100).map { _ in SecretBytes.random(count: 32).exposedBytes() })
        #expect(secrets.count == 100)
        #expect(secrets.allSatisfy { $0.count == 32 })
    }
}

@Suite("Shares")
struct ShareTests {
    @Test("only 32 bytes are a share", arguments: [0, 31, 33, 64])
    func length(count: Int) {
        #expect(Share(copying: [UInt8](repeating: 7, count: count)) == nil)
        let made = Share(SecretBytes.random(count: count))
        #expect(made == nil)
    }

    @Test("no way of printing shows the bytes of a share")
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

    @Test("a wiped array is empty, and an array that shared its storage is unchanged")
    func wiping() {
        var bytes: [UInt8] = [1, 2, 3]
        let held = bytes
        bytes.wipe()
        #expect(bytes.isEmpty)
        #expect(held == [1, 2, 3])
    }

    @Test("shares are random and compared by bytes")
    func identity() throws {
        let share = Share.random()
        let same = try #require(Share(copying: share.exposedBytes()))
        #expect(share.isEqual(to: same))
        #expect(!share.isEqual(to: Share.random()))
        let copy = share.copy().exposedBytes()
        #expect(copy == share.exposedBytes())
    }
}
