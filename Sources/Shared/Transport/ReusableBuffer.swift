internal import NIOCore
internal import NIOPosix

/// Memory for bytes that are on their way through an event loop, used again by whichever connection comes next.
///
/// A call's bytes lie in three buffers for some microseconds each. Made anew, they would be a tenth of what a call takes
/// from the system's allocator; kept by each connection, most of what an idle one holds.
///
/// A buffer that somebody still has when it is asked for again, as a socket does that takes no more, stays theirs: then
/// there is a new one. Nobody reads more of a buffer than was written into it since ``take(capacity:)``.
final class ReusableBuffer {
    /// More bytes than these are not kept: a call has some hundreds.
    private static let maximumCapacity = 4096

    private var spare = ByteBuffer()

    /// An empty buffer with room for so many bytes; ``keep(_:)`` follows once they are written.
    func take(capacity: Int) -> ByteBuffer {
        var buffer = exchange(&self.spare, with: ByteBuffer())
        buffer.clear(minimumCapacity: capacity)
        return buffer
    }

    /// Keeps the memory of a buffer, into which nothing more is written, for the next one who asks.
    func keep(_ buffer: ByteBuffer) {
        if buffer.capacity <= Self.maximumCapacity { _ = exchange(&self.spare, with: buffer) }
    }

    /// Overwrites what was kept last, which may hold a share; where somebody still has it, it is theirs alone from now on.
    ///
    /// Nothing of an answer so waits in this memory for the next one.
    func wipe() {
        var buffer = exchange(&self.spare, with: ByteBuffer())
        let wiped = buffer.modifyIfUniquelyOwned { $0.setRepeatingByte(0, count: $0.writerIndex, at: 0) }
        if wiped != nil { _ = exchange(&self.spare, with: buffer) }
    }
}

/// The spare buffers of one event loop.
struct ReusableBuffers {
    /// Decrypted, and not cut into frames yet.
    let plaintext = ReusableBuffer()
    /// Frames that are not encrypted yet.
    let frames = ReusableBuffer()
    /// Encrypted, and not taken by the channel yet.
    let records = ReusableBuffer()

    private static let ofSharedLoops = Dictionary(
        uniqueKeysWithValues: MultiThreadedEventLoopGroup.singleton.makeIterator().map {
            (ObjectIdentifier($0), NIOLoopBoundBox.makeEmptyBox(valueType: ReusableBuffers.self, eventLoop: $0))
        }
    )

    /// Those of this event loop, on which this is called; its own where it is none that all connections share.
    static func of(_ eventLoop: any EventLoop) -> ReusableBuffers {
        guard let box = Self.ofSharedLoops[ObjectIdentifier(eventLoop)] else { return ReusableBuffers() }
        if let buffers = box.value { return buffers }
        let buffers = ReusableBuffers()
        box.value = buffers
        return buffers
    }
}
