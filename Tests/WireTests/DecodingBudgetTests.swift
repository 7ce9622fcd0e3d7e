import RemotePINProto
import Testing

@testable import Wire

@Suite("Decoding budget")
struct DecodingBudgetTests {
    private static let longest = 65_536

    /// Decodes a frame in an arena with its budget; returns the error and the memory taken.
    private func measure(_ frame: [UInt8]) -> (error: WireError?, taken: Int) {
        let arena = Arena(budget: WireError.decodingBudget(frameByteCount: frame.count))
        do throws(WireError) {
            try decode(frame, remotepin__v1__request__unpack, in: arena) { _ in }
            return (nil, arena.takenByteCount)
        } catch {
            return (error, arena.takenByteCount)
        }
    }

    @Test("32 767 empty sub-messages take no more than the budget")
    func emptySubMessages() {
        // Field 2, hello, repeated; a number that Request does not know would be an unknown field.
        let frame = Array(repeating: [0x12, 0x00] as [UInt8], count: 32_767).flatMap { $0 }
        let (error, taken) = self.measure(frame)
        #expect(error == .overBudget)
        #expect(taken <= WireError.decodingBudget(frameByteCount: frame.count))
        #expect(throws: WireError.overBudget) { try Request(decoding: frame) }
    }

    @Test("32 767 empty certificates take no more than the budget")
    func emptyCertificates() {
        let certificates = Array(repeating: [0x0A, 0x00] as [UInt8], count: 32_760).flatMap { $0 }
        let body = ProtoWriter.message { $0.bytes(3, certificates) }
        #expect(throws: WireError.overBudget) { try RegisterBody(decoding: body) }
    }

    @Test("21 845 unknown fields take no more than the budget")
    func unknownFields() {
        let frame = Array(repeating: [0xA2, 0x06, 0x00] as [UInt8], count: 21_845).flatMap { $0 }
        let (error, taken) = self.measure(frame)
        #expect(error == .overBudget)
        #expect(taken <= WireError.decodingBudget(frameByteCount: frame.count))
    }

    @Test("the largest registration fits into its budget")
    func largest() throws {
        for body in try Samples.registerBodies() {
            let encoded = body.encoded()
            #expect(try RegisterBody(decoding: encoded) == body)
        }
        let call = try Samples.calls()[2]
        let frame = Request(id: .max, call: call).encoded()
        #expect(self.measure(frame).error == nil)
        #expect(self.measure(frame).taken < 4 * frame.count)
    }

    @Test("an arena allocates up to its budget and fails beyond it", arguments: [0, 100, 5000, 100_000])
    func arena(budget: Int) {
        let arena = Arena(budget: budget)
        var pieces = 0
        while unsafe arena.state.pointee.allocate(byteCount: 48) != nil { pieces += 1 }
        let (taken, hasRefused) = (arena.takenByteCount, arena.hasRefused)
        #expect(hasRefused)
        #expect(taken <= budget)
        #expect(pieces * 48 <= budget)
        #expect(budget < 1000 || pieces * 48 > budget / 2)
    }
}
