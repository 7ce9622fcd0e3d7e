import Secrets
import Testing
import Vocabulary
import Wire

@Suite("Round trips of messages")
struct RoundTripTests {
    @Test("every call decodes to the encoded value")
    func calls() throws {
        for (index, call) in try Samples.calls().enumerated() {
            let request = Request(id: UInt64(index) << 40, call: call)
            let bytes = request.encoded()
            let read = try Request(decoding: bytes)
            #expect(read.id == request.id)
            #expect(String(describing: read.call) == String(describing: call))
            #expect(read.encoded() == bytes)
        }
    }

    @Test("every result decodes to the encoded value")
    func results() throws {
        for result in try Samples.results() {
            let response = Response(id: 77, result: result)
            let bytes = response.encoded()
            let read = try Response(decoding: bytes)
            #expect(read.id == 77)
            #expect(String(describing: read.result) == String(describing: result))
            #expect(read.encoded() == bytes)
        }
    }

    @Test("all answers to Instruct have the same length")
    func lengths() throws {
        var results = try Samples.results().filter { if case .instruct = $0 { true } else { false } }
        let share = try #require(Share(copying: Samples.bytes(32)))
        let remaining: [Duration] = [.milliseconds(1), .seconds(3600), .seconds(Int64(UInt32.max))]
        results += [.instruct(.pinValid(unlockShare: share)), .instruct(.wrong(.blockedPermanently))]
        results += remaining.map { .instruct(.blocked(remaining: $0)) }
        results += remaining.map { .instruct(.wrong(.blocked(remaining: $0))) }
        for attempts in [1, 127, 128] {
            results += [false, true].map { .instruct(.wrong(.open(attemptsLeft: attempts, finalRound: $0))) }
        }
        // The receipt's length depends on the number of verdicts in its commit only.
        let receipt = try Samples.receipt()
        let judged = results.compactMap { result -> CallResult? in
            guard case .instruct(let verdict) = result else { return nil }
            return .judged(verdict, receipt)
        }
        for results in [results, judged] {
            for id: UInt64 in [1, 300] {
                #expect(Set(results.map { Response(id: id, result: $0).encoded().count }).count == 1)
            }
        }
        #expect(results.count > 15 && judged.count == results.count)
    }

    @Test("a share decodes to the encoded value and is not printed")
    func share() throws {
        let share = try #require(Share(copying: Samples.bytes(32)))
        let response = Response(id: 1, result: .instruct(.pinValid(unlockShare: share)))
        guard case .instruct(.pinValid(let received, _)) = try Response(decoding: response.encoded()).result else {
            Issue.record("wrong result")
            return
        }
        #expect(received.isEqual(to: share))
        #expect(!"\(response)".contains("7"), "no byte of the share")
    }

    @Test("every signed body decodes to the encoded value")
    func bodies() throws {
        for body in try Samples.registerBodies() { #expect(try RegisterBody(decoding: body.encoded()) == body) }
        for body in try Samples.instructBodies() { #expect(try InstructBody(decoding: body.encoded()) == body) }
        let body = try Samples.openSessionBody()
        #expect(try OpenSessionBody(decoding: body.encoded()) == body)
    }
}
