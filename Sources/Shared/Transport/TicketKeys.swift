internal import COpenSSL
internal import Secrets
internal import Synchronization

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

    init(at now: ContinuousClock.Instant = .now) {
        self.state = Mutex(State(start: now))
    }

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

    /// Prepares libssl's contexts for a ticket.
    ///
    /// Returns false if libcrypto fails.
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
