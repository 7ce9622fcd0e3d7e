internal import COpenSSL
internal import Synchronization

/// The tickets that a client has received from servers.
///
/// They are only kept in memory.
///
/// libssl does not verify the certificate again when it uses a ticket, so tickets belong to a single
/// ``TLSClientContext``, with the name and trust rule they were received under. Each ticket is used only once (RFC 8446
/// §C.4).
final class TLSTickets: Sendable {
    private let stored = Mutex<[TLSTicket]>([])

    /// The maximum number of tickets.
    ///
    /// When it is exceeded, the oldest one is dropped.
    static let limit = 16

    init() {}

    /// Adds a ticket.
    func add(_ ticket: TLSTicket) {
        self.stored.withLock { tickets in
            if tickets.count == Self.limit { tickets.removeFirst() }
            tickets.append(ticket)
        }
    }

    /// Removes and returns the newest ticket.
    func take() -> TLSTicket? {
        self.stored.withLock { $0.popLast() }
    }

    /// The number of tickets.
    var count: Int { self.stored.withLock { $0.count } }
}

/// A ticket: an `SSL_SESSION`.
///
/// This is a class because the array above needs copyable values. It is `@unchecked Sendable` because libssl's
/// reference counting is atomic and the session never changes.
@safe final class TLSTicket: @unchecked Sendable {
    /// Valid for the lifetime of this object.
    let pointer: OpaquePointer

    /// Takes ownership of a reference to the session.
    init(takingOwnershipOf pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe SSL_SESSION_free(self.pointer)
    }
}

extension SSLContext {
    /// Tells libssl to pass every ticket to `tickets`.
    func collectTickets() {
        let mode = Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_LOOKUP | SSL_SESS_CACHE_NO_INTERNAL_STORE)
        unsafe COpenSSL_SSL_CTX_set_session_cache_mode(self.pointer, mode)
        guard let tickets = self.tickets else { return }
        // The context object owns the SSL_CTX and the tickets, and every connection keeps the
        // context object alive, so the pointer is valid in every callback.
        let stored = unsafe SSL_CTX_set_ex_data(self.pointer, 0, Unmanaged.passUnretained(tickets).toOpaque())
        precondition(stored == 1, "libssl is out of memory")
        unsafe SSL_CTX_sess_set_new_cb(self.pointer, takeTicket)
    }
}

/// The callback for a new ticket.
///
/// Returns 1 to take ownership of it.
private func takeTicket(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let session = unsafe session, let context = unsafe SSL_get_SSL_CTX(ssl),
        let data = unsafe SSL_CTX_get_ex_data(context, 0)
    else { return 0 }
    let tickets = unsafe Unmanaged<TLSTickets>.fromOpaque(data).takeUnretainedValue()
    tickets.add(unsafe TLSTicket(takingOwnershipOf: session))
    return 1
}
