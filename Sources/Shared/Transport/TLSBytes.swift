internal import COpenSSL
internal import NIOCore

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
