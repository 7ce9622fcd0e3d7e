/// A client's TLS configuration: the trust rule, the server name, and the tickets received with them.
package final class TLSClientContext: Sendable {
    private let context: SSLContext
    private let serverName: ServerName

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - serverName: The DNS name or IP address that the certificate must be valid for.
    ///   - resumes: Whether to keep and use tickets. If false, every handshake is a full one, and the client tells the
    ///     server that it does not want any tickets.
    ///   - verifiesOnce: Whether to verify a certificate issued by an authority only on the first connection that
    ///     presents it. This is for load tools, whose CPU time limits the load. The client then does not notice when
    ///     the certificate expires.
    package init(
        trust: TLSTrust,
        serverName: String,
        resumes: Bool = true,
        verifiesOnce: Bool = false
    ) throws(TLSContextError) {
        guard let name = ServerName(serverName) else { throw .serverName(serverName) }
        let pins: PinnedKeys? =
            switch trust {
            case .authority: nil
            case .publicKeys(let digests): PinnedKeys(digests: digests, name: name)
            }
        self.serverName = name
        self.context = SSLContext(tickets: resumes ? TLSTickets() : nil, pins: pins)
        switch trust {
        case .authority(let pem):
            try self.context.trust(authorities: pem, name: name)
            if verifiesOnce { self.context.rememberCertificate() }
        case .publicKeys(let digests):
            guard !digests.isEmpty else { throw .trust }
            self.context.trustPinnedKeys()
        }
        if resumes { self.context.collectTickets() } else { self.context.requestTickets("\0\0") }
    }

    /// Creates the client's end of a new connection, which resumes an earlier one if a ticket is available.
    func makeConnection() -> TLSConnection {
        TLSConnection(client: self.context, name: self.serverName)
    }

    /// The number of unused tickets.
    ///
    /// A ticket is used only once.
    var ticketCount: Int { self.context.tickets?.count ?? 0 }
}
