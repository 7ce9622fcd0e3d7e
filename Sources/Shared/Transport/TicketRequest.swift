internal import COpenSSL

// How many tickets a client wants (RFC 9149, `ticket_request`): one that keeps none costs the server none.
//
// A ticket is a key schedule, two ciphers and a record; a twentieth of what the server pays for an unlock over a new
// connection. The server does not answer the request, which the RFC leaves to it.

extension SSLContext {
    /// `ticket_request`, IANA's registry of TLS extensions.
    private static let ticketRequest: UInt32 = 58
    /// libssl calls back for each `ClientHello` of TLS 1.3.
    private static let inClientHello = UInt32(SSL_EXT_TLS1_3_ONLY | SSL_EXT_CLIENT_HELLO)

    /// Makes a client's connections ask for tickets.
    ///
    /// - Parameter counts: the request's two bytes: tickets wanted after a full handshake, and after one that resumes.
    func requestTickets(_ counts: StaticString) {
        precondition(counts.utf8CodeUnitCount == 2)
        let text = unsafe UnsafeMutableRawPointer(mutating: counts.utf8Start)
        let isSet = unsafe SSL_CTX_add_custom_ext(
            self.pointer,
            Self.ticketRequest,
            Self.inClientHello,
            writeTicketRequest,
            nil,
            text,
            nil,
            nil
        )
        precondition(isSet == 1, "this libssl knows the extension itself")
    }

    /// Makes a server heed what clients ask for.
    func honorTicketRequests() {
        let isSet = unsafe SSL_CTX_add_custom_ext(
            self.pointer,
            Self.ticketRequest,
            Self.inClientHello,
            nil,
            nil,
            nil,
            readTicketRequest,
            nil
        )
        precondition(isSet == 1, "this libssl knows the extension itself")
    }
}

/// Two bytes that live as long as the program.
private func writeTicketRequest(
    _: OpaquePointer?,
    _: UInt32,
    _: UInt32,
    _ content: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ byteCount: UnsafeMutablePointer<Int>?,
    _: OpaquePointer?,
    _: Int,
    _: UnsafeMutablePointer<Int32>?,
    _ counts: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe content?.pointee = UnsafePointer(counts?.assumingMemoryBound(to: UInt8.self))
    unsafe byteCount?.pointee = 2
    return 1
}

/// At most what was asked for in either case, since nobody knows yet whether the connection resumes another.
func readTicketRequest(
    _ ssl: OpaquePointer?,
    _: UInt32,
    _: UInt32,
    _ content: UnsafePointer<UInt8>?,
    _ byteCount: Int,
    _: OpaquePointer?,
    _: Int,
    _ alert: UnsafeMutablePointer<Int32>?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    let counts = unsafe UnsafeBufferPointer(start: content, count: byteCount)
    guard counts.count == 2 else {
        unsafe alert?.pointee = SSL_AD_DECODE_ERROR
        return 0
    }
    let wanted = unsafe min(counts[0], counts[1])
    if wanted == 0 { unsafe SSL_set_num_tickets(ssl, 0) }
    return 1
}
