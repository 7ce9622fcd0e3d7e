internal import NIOCore
internal import NIOPosix

/// Memory for bytes in transit on an event loop, reused by the connections of the loop one after the other.
///
/// The bytes of a call pass through three buffers, for some microseconds each. Allocating them for
/// each call would be a tenth of the call's allocations; keeping them for each connection would be
/// most of the memory of an idle connection.
///
/// A buffer that is still referenced when the next connection needs one, as by a socket that cannot
/// send, is not reused; a new one is allocated. Readers see only the bytes written since
/// ``take(capacity:)``.
final class ReusableBuffer {
    /// Larger buffers are not kept: a call has some hundreds of bytes.
    private static let maximumCapacity = 4096

    private var spare = ByteBuffer()

    /// An empty buffer; after writing, the caller returns it with ``keep(_:)``.
    func take(capacity: Int) -> ByteBuffer {
        var buffer = exchange(&self.spare, with: ByteBuffer())
        buffer.clear(minimumCapacity: capacity)
        return buffer
    }

    /// Keeps the memory of a buffer for reuse; the caller no longer writes to it.
    func keep(_ buffer: ByteBuffer) {
        if buffer.capacity <= Self.maximumCapacity { _ = exchange(&self.spare, with: buffer) }
    }

    /// Overwrites the kept buffer, which may contain a share, so that no answer stays in memory
    /// until the next one.
    ///
    /// A buffer that is still referenced elsewhere is released instead.
    func wipe() {
        var buffer = exchange(&self.spare, with: ByteBuffer())
        let wiped = buffer.modifyIfUniquelyOwned { $0.setRepeatingByte(0, count: $0.writerIndex, at: 0) }
        if wiped != nil { _ = exchange(&self.spare, with: buffer) }
    }
}

/// The reusable buffers of one event loop.
struct ReusableBuffers {
    /// For decrypted bytes before they are decoded into frames.
    let plaintext = ReusableBuffer()
    /// For frames before they are encrypted.
    let frames = ReusableBuffer()
    /// For encrypted bytes before the channel takes them.
    let records = ReusableBuffer()

    private static let ofSharedLoops = Dictionary(
        uniqueKeysWithValues: MultiThreadedEventLoopGroup.singleton.makeIterator().map {
            (ObjectIdentifier($0), NIOLoopBoundBox.makeEmptyBox(valueType: ReusableBuffers.self, eventLoop: $0))
        }
    )

    /// The buffers of an event loop, called on that loop; new ones if the loop is not in the shared group.
    static func of(_ eventLoop: any EventLoop) -> ReusableBuffers {
        guard let box = Self.ofSharedLoops[ObjectIdentifier(eventLoop)] else { return ReusableBuffers() }
        if let buffers = box.value { return buffers }
        let buffers = ReusableBuffers()
        box.value = buffers
        return buffers
    }
}
