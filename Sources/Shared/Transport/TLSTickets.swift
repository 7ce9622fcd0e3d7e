internal import COpenSSL
internal import Synchronization

/// The tickets that servers gave a client, in memory only.
///
/// libssl checks no certificate again when a ticket is used, so tickets belong to one ``TLSClientContext``: to the name
/// and the trust that they were got with. Each is used once (RFC 8446 §C.4).
final class TLSTickets: Sendable {
    private let stored = Mutex<[TLSTicket]>([])

    /// Tickets kept at most; the oldest go first.
    static let limit = 16

    init() {}

    /// Keeps a ticket.
    func add(_ ticket: TLSTicket) {
        self.stored.withLock { tickets in
            if tickets.count == Self.limit { tickets.removeFirst() }
            tickets.append(ticket)
        }
    }

    /// The newest ticket, which is then no longer kept.
    func take() -> TLSTicket? {
        self.stored.withLock { $0.popLast() }
    }

    /// Tickets that are kept.
    var count: Int { self.stored.withLock { $0.count } }
}

/// One `SSL_SESSION`.
///
/// A class because the list above needs values that can be copied. `@unchecked Sendable`: libssl counts its references
/// atomically, and nothing changes it.
@safe final class TLSTicket: @unchecked Sendable {
    /// Lives as long as this object.
    let pointer: OpaquePointer

    /// Takes over one reference.
    init(takingOwnershipOf pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe SSL_SESSION_free(self.pointer)
    }
}

extension SSLContext {
    /// Makes libssl hand every ticket to `tickets`.
    func collectTickets() {
        let mode = Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_LOOKUP | SSL_SESS_CACHE_NO_INTERNAL_STORE)
        unsafe COpenSSL_SSL_CTX_set_session_cache_mode(self.pointer, mode)
        guard let tickets = self.tickets else { return }
        // The context object owns both the SSL_CTX and the tickets, and every connection keeps the context object
        // alive, so the pointer is valid whenever libssl calls back.
        let stored = unsafe SSL_CTX_set_ex_data(self.pointer, 0, Unmanaged.passUnretained(tickets).toOpaque())
        precondition(stored == 1, "libssl is out of memory")
        unsafe SSL_CTX_sess_set_new_cb(self.pointer, takeTicket)
    }
}

/// Recovers the tickets of a connection's context and keeps one more; 1 tells libssl that it was taken over.
private func takeTicket(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let session = unsafe session, let context = unsafe SSL_get_SSL_CTX(ssl),
        let data = unsafe SSL_CTX_get_ex_data(context, 0)
    else { return 0 }
    let tickets = unsafe Unmanaged<TLSTickets>.fromOpaque(data).takeUnretainedValue()
    tickets.add(unsafe TLSTicket(takingOwnershipOf: session))
    return 1
}
