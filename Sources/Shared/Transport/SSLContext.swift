internal import COpenSSL

/// One `SSL_CTX`: what the connections of one side have in common.
///
/// A class, because libssl shares it between connections. `@unchecked Sendable`: after `init` it is only read and given
/// to `SSL_new`, which locks what it touches; tickets have a lock of their own.
@safe final class SSLContext: @unchecked Sendable {
    /// Lives as long as this object; for ``TLSConnection`` and the configuration of a new context only.
    let pointer: OpaquePointer
    /// Where a client's tickets go; nil for a client that keeps none, and on the server's side.
    let tickets: TLSTickets?

    /// The server keys that a client pins; nil where it trusts authorities, and on the server's side.
    let pins: PinnedKeys?

    /// The protocol's name in the handshake (ALPN, RFC 7301).
    static let protocolName = "remote-pin/1"
    private static let ciphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

    /// A context for TLS 1.3 and nothing else.
    init(tickets: TLSTickets?, pins: PinnedKeys? = nil) {
        guard let pointer = unsafe SSL_CTX_new(TLS_method()) else {
            preconditionFailure("libssl is out of memory or cannot read its configuration")
        }
        unsafe self.pointer = unsafe pointer
        self.tickets = tickets
        self.pins = pins
        let configured = [
            unsafe COpenSSL_SSL_CTX_set_min_proto_version(pointer, TLS1_3_VERSION),
            unsafe COpenSSL_SSL_CTX_set_max_proto_version(pointer, TLS1_3_VERSION),
            unsafe SSL_CTX_set_ciphersuites(pointer, Self.ciphers),
            unsafe COpenSSL_SSL_CTX_set1_groups_list(pointer, "X25519:P-256"),
        ].allSatisfy { $0 == 1 }
        precondition(configured, "this libssl lacks TLS 1.3 or its usual groups and ciphers")
        // psk_dhe_ke only and no early data are libssl's defaults: SSL_OP_ALLOW_NO_DHE_KEX stays off, and
        // SSL_CTX_set_max_early_data is never called.
        unsafe SSL_CTX_set_options(
            pointer,
            COpenSSL_SSL_OP_NO_RENEGOTIATION() | COpenSSL_SSL_OP_NO_COMPRESSION()
                | COpenSSL_SSL_OP_CIPHER_SERVER_PREFERENCE()
        )
        unsafe COpenSSL_SSL_CTX_set_mode(pointer, Int(SSL_MODE_RELEASE_BUFFERS))
        unsafe COpenSSL_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
    }

    deinit {
        unsafe SSL_CTX_free(self.pointer)
    }
}
