/// What a client expects of its server, and the tickets that it got under these expectations.
package final class TLSClientContext: Sendable {
    private let context: SSLContext
    private let serverName: ServerName

    /// - Parameters:
    ///   - serverName: the DNS name or IP address that the certificate must be for.
    ///   - resumes: whether tickets are kept and used; without them every connection shakes hands in full, and
    ///     the server is asked for none.
    package init(trust: TLSTrust, serverName: String, resumes: Bool = true) throws(TLSContextError) {
        guard let name = ServerName(serverName) else { throw .serverName(serverName) }
        let pins: PinnedKeys? =
            switch trust {
            case .authority: nil
            case .publicKeys(let digests): PinnedKeys(digests: digests, name: name)
            }
        self.serverName = name
        self.context = SSLContext(tickets: resumes ? TLSTickets() : nil, pins: pins)
        switch trust {
        case .authority(let pem): try self.context.trust(authorities: pem, name: name)
        case .publicKeys(let digests):
            guard !digests.isEmpty else { throw .trust }
            self.context.trustPinnedKeys()
        }
        if resumes { self.context.collectTickets() } else { self.context.requestTickets("\0\0") }
    }

    /// The client's end of a new connection, resuming an earlier one where there is a ticket.
    func makeConnection() -> TLSConnection {
        TLSConnection(client: self.context, name: self.serverName)
    }

    /// Tickets that wait for a connection; each is used once.
    var ticketCount: Int { self.context.tickets?.count ?? 0 }
}
