import Synchronization
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("Calls in one flight")
struct FlightTests {
    private let certificates: TestCertificates

    init() throws {
        self.certificates = try TestCertificates()
    }

    /// The calls that arrived at a server, in order.
    private final class ReceivedCalls: Sendable {
        private let calls = Mutex<[String]>([])

        var names: [String] { self.calls.withLock { $0 } }

        func add(_ call: Call) {
            let name =
                switch call {
                case .beginEnrollment: "begin"
                case .reportWipe: "wipe"
                case .revokeWithCode(let code): code
                default: "other"
                }
            self.calls.withLock { $0.append(name) }
        }
    }

    /// Answers two calls at a time, the later first: BeginEnrollment with its token, other calls
    /// with `not-allowed`.
    private static func answerInReverse(_ calls: ReceivedCalls) -> @Sendable (ServerConnection) async -> Void {
        { connection in
            var waiting: [Request] = []
            while case .request(let request) = await connection.next() {
                calls.add(request.call)
                waiting.append(request)
                guard waiting.count == 2 else { continue }
                for request in waiting.reversed() { await connection.send(answer(to: request, on: connection)) }
                waiting = []
            }
        }
    }

    /// A code of a valid length that identifies a call.
    private static func code(_ number: Int) -> String { String(repeating: "A", count: 18) + "\(number)" }

    @Test("calls arrive in order, and their answers are returned in order, in whichever order they arrive")
    func order() async throws {
        let context = try self.certificates.clientContext()
        let received = ReceivedCalls()
        try await withServer(self.certificates, serve: Self.answerInReverse(received)) { port, _, _ in
            let connection = try await connect(port, context)
            for round in 0..<50 {
                let calls = [Call.revokeWithCode(Self.code(round)), .beginEnrollment]
                let answers = try await connection.call(calls, timeout: .seconds(20))
                try #require(answers.count == 2)
                guard case .refused = answers[0], case .beginEnrollment(let enrollment) = answers[1] else {
                    Issue.record("the answer to another call")
                    continue
                }
                #expect(enrollment.token == connection.channelBinding.bytes)
            }
            #expect(try await connection.call([], timeout: .seconds(20)).isEmpty)
            connection.close()
        }
        #expect(received.names == (0..<50).flatMap { [Self.code($0), "begin"] })
    }

    @Test("a call without an answer times out the flight, and the connection stays open")
    func timeout() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, serve: silentOnWipe) { port, _, _ in
            let connection = try await connect(port, context)
            for calls in [[Call.beginEnrollment, .reportWipe], [.reportWipe, .beginEnrollment]] {
                await #expect(throws: CallError.timedOut) {
                    try await connection.call(calls, timeout: .milliseconds(20))
                }
            }
            #expect(try await token(connection) == connection.channelBinding.bytes)
            connection.close()
        }
    }

    @Test("a flight ends on cancellation and at the end of the connection")
    func ended() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, serve: silentOnWipe) { port, _, _ in
            let connection = try await connect(port, context)
            let calls = [Call.beginEnrollment, .reportWipe]
            let waiting = Task { try await connection.call(calls, timeout: .seconds(60)) }
            waiting.cancel()
            await #expect(throws: CallError.cancelled) { try await waiting.value }
            let other = Task { try await connection.call(calls, timeout: .seconds(60)) }
            _ = try await token(connection)
            connection.close()
            await #expect(throws: CallError.closed) { try await other.value }
            await #expect(throws: CallError.closed) { try await connection.call(calls, timeout: .seconds(60)) }
        }
    }

    @Test("a client without resumption makes a full handshake each time")
    func noResumption() async throws {
        let context = try self.certificates.clientContext(resumes: false)
        try await withServer(self.certificates) { port, _, _ in
            for _ in 0..<3 {
                let connection = try await connect(port, context)
                #expect(try await token(connection) == connection.channelBinding.bytes)
                #expect(!connection.isResumed)
                connection.close()
                #expect(await happens { await connection.closed() })
            }
        }
    }
}
