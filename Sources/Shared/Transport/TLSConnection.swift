internal import COpenSSL
internal import NIOCore
internal import Vocabulary

/// A TLS connection over bytes in memory rather than a socket: an `SSL`.
///
/// ``receive(_:)`` adds received bytes, and ``takeOutput()`` returns the bytes to send. None of the methods block. This
/// value is the only owner of the `SSL` and of the bytes that its BIO points to.
@safe struct TLSConnection: ~Copyable {
    private let ssl: OpaquePointer
    private let bytes: UnsafeMutablePointer<TLSBytes>
    /// Keeps the objects used by libssl's callbacks alive.
    private let context: SSLContext

    private init(_ context: SSLContext) {
        let bytes = UnsafeMutablePointer<TLSBytes>.allocate(capacity: 1)
        unsafe bytes.initialize(to: TLSBytes())
        guard let ssl = unsafe SSL_new(context.pointer), let bio = unsafe TLSBytes.makeBIO(over: bytes) else {
            preconditionFailure("libssl is out of memory")
        }
        // SSL_set_bio(3) only takes one reference if both BIOs are the same, so we do not need a second one.
        unsafe SSL_set_bio(ssl, bio, bio)
        // Read the header and the content of a record at the same time.
        unsafe SSL_set_read_ahead(ssl, 1)
        unsafe TLSBytes.noteMessages(of: ssl, in: bytes)
        unsafe self.ssl = unsafe ssl
        unsafe self.bytes = unsafe bytes
        self.context = context
    }

    /// Creates the server's end, which waits for the client's first message.
    init(server context: SSLContext) {
        self.init(context)
        unsafe SSL_set_accept_state(self.ssl)
    }

    /// Creates the client's end, which offers a ticket if it has one.
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
            // If the ticket cannot be used, we just get a full handshake.
            unsafe SSL_set_session(self.ssl, ticket.pointer)
            Self.forgetErrors()
        }
    }

    deinit {
        unsafe SSL_free(self.ssl)
        unsafe self.bytes.deinitialize(count: 1)
        unsafe self.bytes.deallocate()
    }

    /// Clears the thread's error queue.
    ///
    /// Otherwise, `SSL_get_error` would attribute its entries to this connection.
    ///
    /// We check first, because the queue is almost always empty and clearing it is much more expensive.
    private static func forgetErrors() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Sets the reusable memory for the bytes to send.
    borrowing func use(_ records: ReusableBuffer) { unsafe self.bytes.pointee.records = records }

    /// Adds received bytes.
    borrowing func receive(_ bytes: ByteBuffer) { unsafe self.bytes.pointee.receive(bytes) }

    /// Returns the bytes to send, or nil if there are none.
    borrowing func takeOutput() -> ByteBuffer? { unsafe self.bytes.pointee.takeOutput() }

    /// Continues the handshake as far as possible with the bytes received so far; returns true once it is complete.
    borrowing func handshake() throws(TLSFailure) -> Bool {
        Self.forgetErrors()
        let result = unsafe SSL_do_handshake(self.ssl)
        guard result != 1 else {
            guard self.hasAgreedOnProtocol else { throw .noCommonProtocol }
            self.forgetEphemeralKeys()
            return true
        }
        guard unsafe SSL_get_error(self.ssl, result) == SSL_ERROR_WANT_READ else { throw self.takeFailure() }
        return false
    }

    /// Whether this end has sent its Finished message, which follows its signature.
    var hasSentFinished: Bool { unsafe self.bytes.pointee.hasSentFinished }

    private var hasAgreedOnProtocol: Bool {
        var name: UnsafePointer<UInt8>?
        var byteCount: UInt32 = 0
        unsafe SSL_get0_alpn_selected(self.ssl, &name, &byteCount)
        let agreed = unsafe UnsafeBufferPointer(start: name, count: Int(byteCount))
        return unsafe agreed.elementsEqual(SSLContext.protocolName.utf8)
    }

    /// The result of ``read(into:)``.
    enum Reading {
        /// Some bytes were read.
        ///
        /// There may be more.
        case bytes
        /// More bytes are needed.
        case nothing
        /// The peer sent close_notify.
        case ended
    }

    /// The maximum number of key updates (RFC 8446 §4.6.3) we accept from a peer.
    ///
    /// An honest peer sends one every few million records, which is more than a wallet ever sends.
    ///
    /// Threat: each update costs us a key derivation, but it is not a call, so the per-source limits would not stop a
    /// peer that sends nothing but updates.
    private static let maximumKeyUpdates = 32

    /// Appends decrypted bytes to `buffer`.
    borrowing func read(into buffer: inout ByteBuffer) throws(TLSFailure) -> Reading {
        Self.forgetErrors()
        var result: Int32 = 0
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 256) { target in
            result = unsafe SSL_read(self.ssl, target.baseAddress, Int32(clamping: target.count))
            return max(0, Int(result))
        }
        guard unsafe self.bytes.pointee.keyUpdates <= Self.maximumKeyUpdates else {
            throw .broken("too many key updates")
        }
        guard result <= 0 else { return .bytes }
        switch unsafe SSL_get_error(self.ssl, result) {
        case SSL_ERROR_WANT_READ: return .nothing
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: throw self.takeFailure()
        }
    }

    /// Encrypts all of `bytes`.
    ///
    /// The BIO accepts any amount.
    borrowing func write(_ bytes: ByteBuffer) throws(TLSFailure) {
        Self.forgetErrors()
        let failed: Bool = unsafe bytes.withUnsafeReadableBytes { bytes in
            guard let count = Int32(exactly: bytes.count) else { return true }
            guard count > 0 else { return false }
            return unsafe SSL_write(self.ssl, bytes.baseAddress, count) != count
        }
        if failed { throw self.takeFailure() }
    }

    /// Writes a close_notify; does nothing if the connection has failed.
    borrowing func sendCloseNotify() {
        Self.forgetErrors()
        unsafe SSL_shutdown(self.ssl)
        Self.forgetErrors()
    }

    /// An upper bound on the number of bytes returned by the next ``read(into:)``.
    var readableByteCount: Int { unsafe max(Int(SSL_pending(self.ssl)), self.bytes.pointee.input.readableBytes) }

    /// Whether ``read(into:)`` might return bytes.
    ///
    /// If false, there is not even part of a record.
    var mayHaveMore: Bool { unsafe self.bytes.pointee.input.readableBytes > 0 || SSL_has_pending(self.ssl) == 1 }

    /// Whether we have received part of a TLS record.
    var isMidRecord: Bool { unsafe SSL_has_pending(self.ssl) == 1 }

    /// Whether the handshake resumed an earlier connection with a ticket.
    var isResumed: Bool { unsafe SSL_session_reused(self.ssl) == 1 }

    /// Returns the exported secret that is known only to the two ends of this connection (RFC 9266 §2).
    ///
    /// Must only be called after the handshake.
    borrowing func channelBinding() throws(TLSFailure) -> ChannelBinding {
        Self.forgetErrors()
        let label = "EXPORTER-Channel-Binding"
        var bytes = [UInt8](repeating: 0, count: ChannelBindingKind.byteCount)
        // We do not pass a context, which is the same as passing an empty one in TLS 1.3 (RFC 8446 §7.5).
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

    /// Frees both ends' ephemeral keys, which libssl would keep until the connection ends.
    ///
    /// Only the handshake needs them. They take 430 bytes of each connection.
    private borrowing func forgetEphemeralKeys() {
        var (own, peer): (OpaquePointer?, OpaquePointer?)
        if unsafe COpenSSL_SSL_get_tmp_key(self.ssl, &own) == 1 { unsafe Self.empty(own) }
        if unsafe COpenSSL_SSL_get_peer_tmp_key(self.ssl, &peer) == 1 { unsafe Self.empty(peer) }
        Self.forgetErrors()
    }

    /// Frees the content of a key and this reference to it.
    ///
    /// EVP_PKEY_set_type(3) frees the content before it sets the type. The empty object is left to libssl.
    private static func empty(_ key: OpaquePointer?) {
        unsafe EVP_PKEY_set_type(key, EVP_PKEY_X25519)
        unsafe EVP_PKEY_free(key)
    }

    private func takeFailure() -> TLSFailure {
        .take(verifyResult: unsafe SSL_get_verify_result(self.ssl))
    }
}

/// The encrypted bytes passed between an `SSL` and its channel, in both directions.
///
/// libssl reads and writes them through a custom BIO. libssl's own memory BIOs would copy every byte once more, and
/// they never shrink until the connection ends, so they would make up most of the memory used by an idle connection.
/// This BIO does not hold any memory unless there are bytes in transit.
struct TLSBytes {
    /// Received bytes that libssl has not read yet.
    private(set) var input = ByteBuffer()
    /// Bytes written by libssl that have not been passed to the channel yet.
    private var output = ByteBuffer()
    /// The memory for the output.
    var records = ReusableBuffer()
    /// The number of key updates sent by the peer.
    fileprivate(set) var keyUpdates = 0
    /// Whether this end has sent its Finished message.
    fileprivate(set) var hasSentFinished = false

    /// Adds received bytes.
    ///
    /// This does not copy if libssl has read all earlier bytes, which is usually the case.
    mutating func receive(_ bytes: ByteBuffer) {
        if self.input.readableBytes == 0 {
            self.input = bytes
        } else {
            self.input.discardReadBytes()
            self.input.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the bytes to send, or nil if there are none.
    mutating func takeOutput() -> ByteBuffer? {
        guard self.output.readableBytes > 0 else { return nil }
        let output = self.output
        self.output = ByteBuffer()
        self.records.keep(output)
        return output
    }

    /// Moves as much input as possible to `target` and returns the number of bytes.
    fileprivate mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let byteCount = min(target.count, self.input.readableBytes)
        unsafe self.input.readWithUnsafeReadableBytes { bytes in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<byteCount]))
            return byteCount
        }
        // Release the channel's read buffer, so that the channel can reuse it.
        if self.input.readableBytes == 0 { self.input = ByteBuffer() }
        return byteCount
    }

    fileprivate mutating func write(_ bytes: UnsafeRawBufferPointer) {
        if self.output.readableBytes == 0 { self.output = self.records.take(capacity: bytes.count) }
        unsafe self.output.writeBytes(bytes)
    }

    /// Creates a BIO that reads and writes these bytes, which must outlive it.
    static func makeBIO(over bytes: UnsafeMutablePointer<TLSBytes>) -> OpaquePointer? {
        guard let bio = unsafe BIO_new(TLSBIOMethod.shared.pointer) else { return nil }
        unsafe BIO_set_data(bio, bytes)
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }
}

/// The BIO method through which libssl uses ``TLSBytes``.
///
/// `@unchecked Sendable` because it is initialized once and only read afterwards.
@safe private final class TLSBIOMethod: @unchecked Sendable {
    static let shared = TLSBIOMethod()

    let pointer: OpaquePointer

    private init() {
        let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = unsafe BIO_meth_new(type, "remote-pin bytes"),
            unsafe BIO_meth_set_read_ex(method, readBytes) == 1,
            unsafe BIO_meth_set_write_ex(method, writeBytes) == 1,
            unsafe BIO_meth_set_ctrl(method, control) == 1
        else { preconditionFailure("libssl is out of memory") }
        unsafe self.pointer = unsafe method
    }
}

/// `BIO_read_ex(3)`: returns 1 with some bytes, or 0 with the retry flag if there are none.
private func readBytes(
    _ bio: OpaquePointer?,
    _ target: UnsafeMutablePointer<CChar>?,
    _ byteCount: Int,
    _ readByteCount: UnsafeMutablePointer<Int>?
) -> Int32 {
    unsafe BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
    guard let bytes = unsafe BIO_get_data(bio)?.assumingMemoryBound(to: TLSBytes.self) else { return 0 }
    guard unsafe bytes.pointee.input.readableBytes > 0 else {
        unsafe BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        return 0
    }
    let room = unsafe UnsafeMutableRawBufferPointer(start: target, count: byteCount)
    unsafe readByteCount?.pointee = bytes.pointee.read(into: room)
    return 1
}

/// `BIO_write_ex(3)`: accepts all bytes.
private func writeBytes(
    _ bio: OpaquePointer?,
    _ source: UnsafePointer<CChar>?,
    _ byteCount: Int,
    _ writtenByteCount: UnsafeMutablePointer<Int>?
) -> Int32 {
    unsafe BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
    guard let bytes = unsafe BIO_get_data(bio)?.assumingMemoryBound(to: TLSBytes.self) else { return 0 }
    unsafe bytes.pointee.write(UnsafeRawBufferPointer(start: source, count: byteCount))
    unsafe writtenByteCount?.pointee = byteCount
    return 1
}

/// `BIO_ctrl(3)`: only accepts a flush, which requires no action.
private func control(_: OpaquePointer?, _ command: Int32, _: Int, _: UnsafeMutableRawPointer?) -> Int {
    command == BIO_CTRL_FLUSH ? 1 : 0
}

extension TLSBytes {
    /// Records a connection's messages in `bytes`, which must outlive the connection.
    static func noteMessages(of ssl: OpaquePointer, in bytes: UnsafeMutablePointer<TLSBytes>) {
        unsafe COpenSSL_SSL_set_msg_callback_arg(ssl, bytes)
        unsafe SSL_set_msg_callback(ssl, noteMessage)
    }
}

/// `SSL_set_msg_callback(3)`: called for every protocol message sent or received and for record headers.
private func noteMessage(
    _ isSent: Int32,
    _: Int32,
    _ type: Int32,
    _ message: UnsafeRawPointer?,
    _ byteCount: Int,
    _: OpaquePointer?,
    _ bytes: UnsafeMutableRawPointer?
) {
    guard type == SSL3_RT_HANDSHAKE, byteCount > 0, let message = unsafe message else { return }
    let bytes = unsafe bytes?.assumingMemoryBound(to: TLSBytes.self)
    switch (isSent, unsafe Int32(message.load(as: UInt8.self))) {
    case (0, SSL3_MT_KEY_UPDATE): unsafe bytes?.pointee.keyUpdates += 1
    case (1, SSL3_MT_FINISHED): unsafe bytes?.pointee.hasSentFinished = true
    default: break
    }
}
