import TestSupport
import Testing
import Wire

@Suite("Random bytes")
struct RandomBytesTests {
    private let seed = UInt64.random(in: .min ... .max)

    /// Decodes the bytes as each type of message; any error is permitted.
    private func decodeAsEveryMessage(_ bytes: [UInt8]) {
        _ = try? Request(decoding: bytes)
        _ = try? Response(decoding: bytes)
        _ = try? RegisterBody(decoding: bytes)
        _ = try? OpenSessionBody(decoding: bytes)
        _ = try? InstructBody(decoding: bytes)
    }

    @Test("random bytes are rejected or decoded without a crash")
    func random() {
        print("seed \(self.seed)")
        var generator = SeededGenerator(seed: self.seed)
        for _ in 0..<3000 {
            let count = Int.random(in: 0...300, using: &generator)
            self.decodeAsEveryMessage((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        }
    }

    @Test("messages with a few bytes changed, removed or inserted are rejected or decoded without a crash")
    func mutated() throws {
        print("seed \(self.seed)")
        var generator = SeededGenerator(seed: self.seed)
        var messages = try Samples.calls().map { Request(id: 5, call: $0).encoded() }
        messages += try Samples.results().map { Response(id: 5, result: $0).encoded() }
        messages += try Samples.registerBodies().map { $0.encoded() } + Samples.instructBodies().map { $0.encoded() }
        for _ in 0..<4000 {
            guard var bytes = messages.randomElement(using: &generator), !bytes.isEmpty else { continue }
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                // The first bytes contain the structure, where changes have the most effect.
                let index = Int.random(in: 0..<min(bytes.count, 64), using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = .random(in: .min ... .max, using: &generator)
                case 1: bytes.remove(at: index)
                default: bytes.insert(.random(in: .min ... .max, using: &generator), at: index)
                }
            }
            self.decodeAsEveryMessage(bytes)
        }
    }
}
