internal import COpenSSL

// The number of tickets that a client requests (RFC 9149, `ticket_request`), so that the server does not create any for
// a client that will not keep them.
//
// A ticket costs a key schedule, two ciphers and a record, which is a twentieth of the time the server spends on an
// unlock over a new connection. The server does not reply to the extension, which is optional according to the RFC.

extension SSLContext {
    /// `ticket_request` in IANA's registry of TLS extensions.
    private static let ticketRequest: UInt32 = 58
    /// Restricts the callback to TLS 1.3 ClientHellos.
    private static let inClientHello = UInt32(SSL_EXT_TLS1_3_ONLY | SSL_EXT_CLIENT_HELLO)

    /// Makes a client's connections request this number of tickets.
    ///
    /// - Parameter counts: The two bytes of the request, which are the number of tickets after a full handshake and
    ///   after a resumption.
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
        precondition(isSet == 1, "this libssl implements ticket_request itself; remove the custom extension")
    }

    /// Makes a server honor clients' requests.
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
        precondition(isSet == 1, "this libssl implements ticket_request itself; remove the custom extension")
    }
}

/// Writes the two bytes of the request.
///
/// They are static, so there is nothing to free.
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

/// Uses the smaller of the two numbers, because this runs before libssl knows whether the session will be resumed.
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
