internal import COpenSSL
internal import Secrets
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

    func add(_ ticket: TLSTicket) {
        self.stored.withLock { tickets in
            if tickets.count == Self.limit { tickets.removeFirst() }
            tickets.append(ticket)
        }
    }

    /// Removes and returns the newest ticket.
    func take() -> TLSTicket? { self.stored.withLock { $0.popLast() } }

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
    init(takingOwnershipOf pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }

    deinit { unsafe SSL_SESSION_free(self.pointer) }
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

/// The callback for a new ticket; returns 1 to take ownership of it.
private func takeTicket(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let session = unsafe session, let context = unsafe SSL_get_SSL_CTX(ssl),
        let data = unsafe SSL_CTX_get_ex_data(context, 0)
    else { return 0 }
    let tickets = unsafe Unmanaged<TLSTickets>.fromOpaque(data).takeUnretainedValue()
    tickets.add(unsafe TLSTicket(takingOwnershipOf: session))
    return 1
}

/// The keys that a server encrypts its tickets with: the current one and the previous one.
///
/// Threat: an attacker who reads a ticket key can impersonate the server to clients that resume a connection, because
/// those clients do not check a certificate. The current key is replaced when it is first used after an hour has
/// passed, and a key is accepted for at most two hours. The keys only exist in this process's memory.
final class TicketKeys: Sendable {
    private struct State {
        var current = TicketKey()
        var previous: TicketKey?
        /// The time since which the current key has been in use.
        var start: ContinuousClock.Instant

        mutating func rotate(at now: ContinuousClock.Instant) {
            let hours = Int((now - self.start) / TicketKeys.lifetime)
            guard hours > 0 else { return }
            self.previous = hours == 1 ? self.current : nil
            self.current = TicketKey()
            self.start += TicketKeys.lifetime * hours
        }
    }

    /// The period during which a key is used to encrypt new tickets.
    ///
    /// A ticket is valid for the same length of time.
    static let lifetime: Duration = .seconds(3600)

    private let state: Mutex<State>

    init(at now: ContinuousClock.Instant = .now) { self.state = Mutex(State(start: now)) }

    /// Returns the key for new tickets.
    func current(at now: ContinuousClock.Instant = .now) -> TicketKey {
        self.state.withLock { state in
            state.rotate(at: now)
            return state.current
        }
    }

    /// Returns the key with this name, or nil if it is no longer accepted.
    func key(named name: [UInt8], at now: ContinuousClock.Instant = .now) -> TicketKey? {
        self.state.withLock { state in
            state.rotate(at: now)
            return [state.current, state.previous].compactMap(\.self).first { $0.name == name }
        }
    }
}

/// A ticket key, which consists of a name, a key for AES-256-CBC and one for HMAC-SHA256 (RFC 5077 §4).
///
/// This is a class because the collections above need copyable values.
final class TicketKey: Sendable {
    /// The name, which is public because it is sent at the start of each ticket.
    let name = (0..<TicketKey.nameByteCount).map { _ in UInt8.random(in: .min ... .max) }
    private let cipher = SecretBytes.random(count: 32)
    private let mac = SecretBytes.random(count: 32)

    static let nameByteCount = 16

    /// Prepares libssl's contexts for a ticket; returns false if libcrypto fails.
    fileprivate func prepare(
        _ cipher: OpaquePointer?,
        _ mac: OpaquePointer?,
        nonce: UnsafeMutablePointer<UInt8>?,
        encrypts: Bool
    ) -> Bool {
        let isCipherSet = self.cipher.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                let start = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nil, start, nonce, encrypts ? 1 : 0) == 1
            }
        }
        let isMACSet = self.mac.withBytes { key in
            unsafe key.withUnsafeBytes { key in unsafe COpenSSL_set_mac_key(mac, key.baseAddress, key.count) == 1 }
        }
        return isCipherSet && isMACSet
    }
}

extension SSLContext {
    /// Makes the server encrypt its tickets with ``ticketKeys``, and limits their lifetime to that of the keys.
    func encryptTickets() {
        guard let keys = self.ticketKeys else { return }
        unsafe SSL_CTX_set_timeout(self.pointer, Int(TicketKeys.lifetime.components.seconds))
        // The context object owns the SSL_CTX and the keys, and every connection keeps the context
        // object alive, so the pointer is valid in every callback.
        let stored = unsafe SSL_CTX_set_ex_data(self.pointer, 0, Unmanaged.passUnretained(keys).toOpaque())
        let isSet = unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(self.pointer, prepareTicket)
        precondition(stored == 1 && isSet == 1, "libssl is out of memory")
    }
}

/// `SSL_CTX_set_tlsext_ticket_key_evp_cb(3)`: prepares the contexts for encrypting or decrypting a ticket.
///
/// When decrypting, returns 0 if the ticket key is no longer accepted, which leads to a full handshake. Otherwise
/// returns 2, which makes libssl issue a new ticket as well.
private func prepareTicket(
    _ ssl: OpaquePointer?,
    _ name: UnsafeMutablePointer<UInt8>?,
    _ nonce: UnsafeMutablePointer<UInt8>?,
    _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?,
    _ encrypts: Int32
) -> Int32 {
    guard let data = unsafe SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0), let name = unsafe name else { return -1 }
    let keys = unsafe Unmanaged<TicketKeys>.fromOpaque(data).takeUnretainedValue()
    if encrypts == 1 {
        let key = keys.current()
        unsafe name.update(from: key.name, count: TicketKey.nameByteCount)
        guard unsafe RAND_bytes(nonce, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 else { return -1 }
        return unsafe key.prepare(cipher, mac, nonce: nonce, encrypts: true) ? 1 : -1
    }
    let named = unsafe Array(UnsafeBufferPointer(start: name, count: TicketKey.nameByteCount))
    guard let key = keys.key(named: named) else { return 0 }
    return unsafe key.prepare(cipher, mac, nonce: nonce, encrypts: false) ? 2 : -1
}

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
