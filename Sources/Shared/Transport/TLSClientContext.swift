internal import COpenSSL
package import Vocabulary

/// Whom a client takes for its server; the platform's roots never count.
package enum TLSTrust: Hashable, Sendable {
    /// Certificates of authorities, PEM; one of them has signed the server's, and the name and times are right.
    case authority(pem: [UInt8])
    /// SHA-256 of the SubjectPublicKeyInfo of the server's own certificate; one of them is its key, and the name and
    /// times are right.
    case publicKeys([SHA256Digest])
}

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
        if resumes { self.context.collectTickets() } else { self.context.askForTickets("\0\0") }
    }

    /// The client's end of a new connection, resuming an earlier one where there is a ticket.
    func makeConnection() -> TLSConnection {
        TLSConnection(client: self.context, name: self.serverName)
    }

    /// Tickets that wait for a connection; each is used once.
    var ticketCount: Int { self.context.tickets?.count ?? 0 }
}

/// A DNS name or an IP address, and which of the two it is.
enum ServerName: Hashable, Sendable {
    case dns(String)
    case address(String)

    /// Nil for what is neither.
    init?(_ text: String) {
        guard (1...253).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        if let octets = unsafe a2i_IPADDRESS(text) {
            unsafe ASN1_OCTET_STRING_free(octets)
            self = .address(text)
        } else {
            ERR_clear_error()
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard isName else { return nil }
            self = .dns(text)
        }
    }
}
