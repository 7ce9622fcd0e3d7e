import Testing

@testable import Transport

@Suite("Ticket requests of clients (RFC 9149)")
struct TicketRequestTests {
    private let certificates: TestCertificates
    private let server: TLSServerContext

    init() throws {
        self.certificates = try TestCertificates()
        self.server = try self.certificates.serverContext()
    }

    @Test("a client that keeps no tickets gets none, other clients get one", arguments: [(false, 0), (true, 1)])
    func kept(resumes: Bool, tickets: Int) throws {
        let client = try self.certificates.clientContext(resumes: resumes)
        #expect(try self.tickets(for: client.makeConnection()) == tickets)
    }

    @Test(
        "a client gets at most the smaller of the two requested numbers",
        arguments: [("\0\u{1}", 0), ("\u{1}\0", 0), ("\u{7f}\u{7f}", 1)]
    )
    func counts(request: StaticString, tickets: Int) throws {
        let context = SSLContext(tickets: nil)
        context.requestTickets(request)
        #expect(try self.tickets(for: TLSConnection(client: context, name: .dns("localhost"))) == tickets)
    }

    @Test("a request of another length is a decode error", arguments: [0, 1, 3, 255])
    func length(byteCount: Int) {
        var alert: Int32 = 0
        let bytes = [UInt8](repeating: 1, count: byteCount)
        let goesOn = unsafe readTicketRequest(nil, 58, 0, bytes, byteCount, nil, 0, &alert, nil)
        #expect(goesOn == 0)
        // decode_error, RFC 8446 §6
        #expect(alert == 50)
    }

    /// Makes a handshake in memory; any output of the server after it is a ticket.
    private func tickets(for client: borrowing TLSConnection) throws -> Int {
        let server = self.server.makeConnection()
        #expect(try !client.handshake())
        if let hello = client.takeOutput() { server.receive(hello) }
        #expect(try !server.handshake())
        if let flight = server.takeOutput() { client.receive(flight) }
        #expect(try client.handshake())
        if let finished = client.takeOutput() { server.receive(finished) }
        #expect(try server.handshake())
        return server.takeOutput() == nil ? 0 : 1
    }
}
