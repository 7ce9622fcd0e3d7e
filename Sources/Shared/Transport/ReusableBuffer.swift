internal import NIOCore
internal import NIOPosix

/// A buffer for bytes in transit that is reused by all connections on an event loop, one after the other.
///
/// The bytes of a call pass through three buffers and spend a few microseconds in each. Allocating the buffers for each
/// call would make up a tenth of its allocations, and keeping them for each connection would make up most of the memory
/// used by an idle connection.
///
/// If the buffer is still referenced when the next connection needs one, for example by a socket that cannot send, a
/// new one is allocated instead. Readers only see the bytes written since ``take(capacity:)``.
final class ReusableBuffer {
    /// Larger buffers are not kept, because most calls only have a few hundred bytes.
    private static let maximumCapacity = 4096

    private var spare = ByteBuffer()

    /// Returns an empty buffer.
    ///
    /// After writing to it, the caller must return it with ``keep(_:)``.
    func take(capacity: Int) -> ByteBuffer {
        var buffer = exchange(&self.spare, with: ByteBuffer())
        buffer.clear(minimumCapacity: capacity)
        return buffer
    }

    /// Keeps a buffer's memory for reuse.
    ///
    /// The caller must not write to it after that.
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

/// The reusable buffers for an event loop.
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

    /// Returns the buffers for an event loop, or new ones if the loop is not part of the shared group.
    ///
    /// Must be called on that loop.
    static func of(_ eventLoop: any EventLoop) -> ReusableBuffers {
        guard let box = Self.ofSharedLoops[ObjectIdentifier(eventLoop)] else { return ReusableBuffers() }
        if let buffers = box.value { return buffers }
        let buffers = ReusableBuffers()
        box.value = buffers
        return buffers
    }
}
