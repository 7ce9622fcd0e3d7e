internal import COpenSSL
internal import NIOCore
internal import Vocabulary

/// One `SSL` with two memory BIOs: TLS without a socket.
///
/// What arrives is put in with ``receive(_:)``, what is to be sent is taken out with ``takeOutput(allocator:)``; no
/// call waits. The BIOs belong to the `SSL`, and this value alone owns it.
@safe struct TLSConnection: ~Copyable {
    private let ssl: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// Holds what libssl's callbacks point at.
    private let context: SSLContext

    private init(_ context: SSLContext) {
        guard let ssl = unsafe SSL_new(context.pointer), let input = unsafe BIO_new(BIO_s_mem()),
            let output = unsafe BIO_new(BIO_s_mem())
        else { preconditionFailure("libssl is out of memory") }
        unsafe SSL_set_bio(ssl, input, output)
        unsafe self.ssl = unsafe ssl
        unsafe self.input = unsafe input
        unsafe self.output = unsafe output
        self.context = context
    }

    /// A server's end.
    init(server context: SSLContext) {
        self.init(context)
        unsafe SSL_set_accept_state(self.ssl)
    }

    /// A client's end, which offers a ticket where there is one.
    init(client context: SSLContext, name: ServerName) {
        self.init(context)
        unsafe SSL_set_connect_state(self.ssl)
        let protocols = [UInt8(SSLContext.protocolName.utf8.count)] + Array(SSLContext.protocolName.utf8)
        // SSL_set_alpn_protos(3): 0 is success.
        var isSet = unsafe SSL_set_alpn_protos(self.ssl, protocols, UInt32(protocols.count)) == 0
        if case .dns(let name) = name {
            isSet = unsafe COpenSSL_SSL_set_tlsext_host_name(self.ssl, name) == 1 && isSet
        }
        precondition(isSet, "libssl is out of memory")
        if let ticket = context.tickets?.take() {
            // A ticket that cannot be used only means a full handshake.
            unsafe SSL_set_session(self.ssl, ticket.pointer)
            ERR_clear_error()
        }
    }

    deinit {
        unsafe SSL_free(self.ssl)
    }

    /// Puts in bytes that arrived.
    borrowing func receive(_ bytes: ByteBuffer) {
        unsafe bytes.withUnsafeReadableBytes { bytes in
            guard let count = Int32(exactly: bytes.count), count > 0 else { return }
            let written = unsafe BIO_write(self.input, bytes.baseAddress, count)
            precondition(written == count, "a memory BIO takes everything")
        }
    }

    /// Takes out the bytes to be sent; nil when there are none.
    borrowing func takeOutput(allocator: ByteBufferAllocator) -> ByteBuffer? {
        let byteCount = unsafe Int(BIO_ctrl_pending(self.output))
        guard byteCount > 0 else { return nil }
        var buffer = allocator.buffer(capacity: byteCount)
        _ = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: byteCount) { target in
            unsafe max(0, Int(BIO_read(self.output, target.baseAddress, Int32(byteCount))))
        }
        return buffer
    }

    /// Goes on with the handshake as far as what has arrived allows; true when it is done.
    borrowing func handshake() throws(TLSFailure) -> Bool {
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(self.ssl)
        guard result != 1 else {
            guard self.hasAgreedOnProtocol else { throw .noCommonProtocol }
            return true
        }
        guard unsafe SSL_get_error(self.ssl, result) == SSL_ERROR_WANT_READ else { throw self.takeFailure() }
        return false
    }

    private var hasAgreedOnProtocol: Bool {
        var name: UnsafePointer<UInt8>?
        var byteCount: UInt32 = 0
        unsafe SSL_get0_alpn_selected(self.ssl, &name, &byteCount)
        let agreed = unsafe UnsafeBufferPointer(start: name, count: Int(byteCount))
        return unsafe agreed.elementsEqual(SSLContext.protocolName.utf8)
    }

    /// What ``read(into:)`` found.
    enum Reading {
        /// Some bytes; there may be more.
        case bytes
        /// Nothing until more arrives.
        case nothing
        /// The peer's close_notify: it sends no more.
        case ended
    }

    /// Appends decrypted bytes to `buffer`.
    borrowing func read(into buffer: inout ByteBuffer) throws(TLSFailure) -> Reading {
        ERR_clear_error()
        var result: Int32 = 0
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 512) { target in
            result = unsafe SSL_read(self.ssl, target.baseAddress, Int32(clamping: target.count))
            return max(0, Int(result))
        }
        guard result <= 0 else { return .bytes }
        switch unsafe SSL_get_error(self.ssl, result) {
        case SSL_ERROR_WANT_READ: return .nothing
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: throw self.takeFailure()
        }
    }

    /// Encrypts all of `bytes`; a memory BIO takes as much as there is.
    borrowing func write(_ bytes: ByteBuffer) throws(TLSFailure) {
        ERR_clear_error()
        let failed: Bool = unsafe bytes.withUnsafeReadableBytes { bytes in
            guard let count = Int32(exactly: bytes.count) else { return true }
            guard count > 0 else { return false }
            return unsafe SSL_write(self.ssl, bytes.baseAddress, count) != count
        }
        if failed { throw self.takeFailure() }
    }

    /// Says that nothing more will be sent (close_notify); nothing when the connection has failed.
    borrowing func sayGoodbye() {
        ERR_clear_error()
        unsafe SSL_shutdown(self.ssl)
        ERR_clear_error()
    }

    /// Decrypted bytes of the present record that ``read(into:)`` has not given yet.
    var decryptedByteCount: Int { unsafe Int(SSL_pending(self.ssl)) }

    /// Whether a TLS record has begun to arrive and is not whole yet.
    var isMidRecord: Bool { unsafe SSL_has_pending(self.ssl) == 1 }

    /// Whether this connection goes on from an earlier one's ticket.
    var isResumed: Bool { unsafe SSL_session_reused(self.ssl) == 1 }

    /// What both ends of this connection know and no other connection has (RFC 9266 §2); after the handshake only.
    borrowing func channelBinding() throws(TLSFailure) -> ChannelBinding {
        ERR_clear_error()
        let label = "EXPORTER-Channel-Binding"
        var bytes = [UInt8](repeating: 0, count: ChannelBindingKind.byteCount)
        // Without a context, which in TLS 1.3 is the same as an empty one (RFC 8446 §7.5).
        let result = unsafe SSL_export_keying_material(
            self.ssl,
            &bytes,
            bytes.count,
            label,
            label.utf8.count,
            nil,
            0,
            0
        )
        guard result == 1, let binding = ChannelBinding(bytes) else { throw self.takeFailure() }
        return binding
    }

    private func takeFailure() -> TLSFailure {
        .take(verifyResult: unsafe SSL_get_verify_result(self.ssl))
    }
}
