internal import COpenSSL

/// The configuration shared by all connections of a client or a server: an `SSL_CTX`.
///
/// This is a class because libssl shares the context between connections. It is `@unchecked Sendable` because after
/// `init`, the context is only read and passed to `SSL_new`, which does its own locking. The tickets have a separate
/// lock.
@safe final class SSLContext: @unchecked Sendable {
    /// Valid for the lifetime of this object.
    ///
    /// Only to be used by ``TLSConnection`` and while configuring a new context.
    let pointer: OpaquePointer
    /// A client's tickets; nil on the server, and on a client that does not keep any.
    let tickets: TLSTickets?

    /// The keys that encrypt a server's tickets, or nil on a client.
    let ticketKeys: TicketKeys?

    /// The server keys pinned by a client, or nil on the server and on a client that trusts authorities.
    let pins: PinnedKeys?

    /// The certificate that a client verified last, if it remembers one.
    let verified = VerifiedCertificate()

    /// The name of the protocol in the handshake (ALPN, RFC 7301).
    static let protocolName = "remote-pin/1"
    private static let ciphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

    /// The groups for the key agreement.
    ///
    /// The first list supported by the linked libssl is used.
    ///
    /// X25519MLKEM768 is post-quantum and requires OpenSSL 3.5. An asterisk, introduced by that version, makes a client
    /// send a key share for the group. Without the second asterisk, a server that lacks X25519MLKEM768 would have to
    /// ask for another share, which costs a round trip.
    private static let groups = ["*X25519MLKEM768:*X25519:P-256", "X25519:P-256"]

    /// Creates a context for TLS 1.3 only.
    init(tickets: TLSTickets?, ticketKeys: TicketKeys? = nil, pins: PinnedKeys? = nil) {
        guard let pointer = unsafe SSL_CTX_new(TLS_method()) else {
            preconditionFailure("libssl is out of memory or cannot read its configuration")
        }
        unsafe self.pointer = unsafe pointer
        self.tickets = tickets
        self.ticketKeys = ticketKeys
        self.pins = pins
        let configured = [
            unsafe COpenSSL_SSL_CTX_set_min_proto_version(pointer, TLS1_3_VERSION),
            unsafe COpenSSL_SSL_CTX_set_max_proto_version(pointer, TLS1_3_VERSION),
            unsafe SSL_CTX_set_ciphersuites(pointer, Self.ciphers),
        ].allSatisfy { $0 == 1 }
        let hasGroups = Self.groups.contains { unsafe COpenSSL_SSL_CTX_set1_groups_list(pointer, $0) == 1 }
        // Older versions of libssl leave an error in the queue for each list that contains an unknown group.
        ERR_clear_error()
        precondition(configured && hasGroups, "this libssl lacks TLS 1.3 or its usual groups and ciphers")
        // psk_dhe_ke only and no early data are libssl's defaults: SSL_OP_ALLOW_NO_DHE_KEX stays
        // off, and SSL_CTX_set_max_early_data is never called.
        // libssl wipes decrypted records, which contain shares and deletion codes, once they are read.
        unsafe SSL_CTX_set_options(
            pointer,
            COpenSSL_SSL_OP_NO_RENEGOTIATION() | COpenSSL_SSL_OP_NO_COMPRESSION()
                | COpenSSL_SSL_OP_CIPHER_SERVER_PREFERENCE() | COpenSSL_SSL_OP_CLEANSE_PLAINTEXT()
        )
        unsafe COpenSSL_SSL_CTX_set_mode(pointer, Int(SSL_MODE_RELEASE_BUFFERS))
        unsafe COpenSSL_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
    }

    deinit { unsafe SSL_CTX_free(self.pointer) }
}

/// A certificate, a key or a trust rule cannot be used.
///
/// Correct the file and retry.
package enum TLSContextError: Error, Hashable, Sendable {
    /// The file cannot be read or does not contain a certificate chain.
    case certificate(path: String, reason: String)
    /// The file cannot be read, is encrypted, or does not contain a key.
    case key(path: String, reason: String)
    /// The key does not belong to the certificate.
    case keyOfAnotherCertificate(path: String)
    /// The file contains certificates that wallets would reject.
    case faults(path: String, [CertificateFault])
    /// The trusted certificates are missing or unreadable.
    case trust
    /// The text is neither a DNS name nor an IP address.
    case serverName(String)
}

/// The TLS library.
package enum TLSLibrary {
    /// The version of the loaded library, such as `OpenSSL 3.0.17 1 Jul 2025`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return "unknown" }
        return unsafe String(cString: text)
    }
}
