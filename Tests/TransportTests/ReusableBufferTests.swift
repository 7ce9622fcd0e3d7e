import NIOCore
import NIOPosix
import Testing

@testable import Transport

@Suite("Reusable buffers of an event loop")
struct ReusableBufferTests {
    private let reusable = ReusableBuffer()

    private func written(_ text: String, capacity: Int = 64) -> ByteBuffer {
        var buffer = self.reusable.take(capacity: capacity)
        buffer.writeString(text)
        self.reusable.keep(buffer)
        return buffer
    }

    @Test("a buffer that is still referenced is not overwritten")
    func held() {
        let first = self.written("first")
        let second = self.written("second, which is longer")
        let third = self.written("third")
        #expect([first, second, third].map { String(buffer: $0) } == ["first", "second, which is longer", "third"])
    }

    @Test("a reused buffer is empty")
    func empty() {
        _ = self.written("before")
        #expect(self.reusable.take(capacity: 1).readableBytes == 0)
    }

    @Test("released memory is reused, unless it is larger than a call needs")
    func reuse() {
        _ = self.written("some", capacity: 2000)
        #expect(self.reusable.take(capacity: 1).capacity >= 2000)
        _ = self.written("much", capacity: 100_000)
        #expect(self.reusable.take(capacity: 1).capacity < 100_000)
    }

    @Test("wiping clears the memory, except if it is still referenced")
    func wiping() {
        /// The content of the memory of the next buffer.
        func remains() -> String {
            var next = self.reusable.take(capacity: 5)
            next.moveWriterIndex(to: 5)
            self.reusable.keep(next)
            return String(buffer: next)
        }
        _ = self.written("share")
        #expect(remains() == "share", "the memory is the same")
        self.reusable.wipe()
        #expect(remains() == "\0\0\0\0\0")

        let held = self.written("share")
        self.reusable.wipe()
        #expect(String(buffer: held) == "share")
        _ = self.written("later")
        #expect(String(buffer: held) == "share")
    }

    @Test("connections of one event loop share buffers, those of two do not")
    func loops() async throws {
        let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
        func frames(of loop: any EventLoop) async throws -> ObjectIdentifier {
            try await loop.submit { ObjectIdentifier(ReusableBuffers.of(loop).frames) }.get()
        }
        let first = try await frames(of: loops[0])
        #expect(try await frames(of: loops[0]) == first)
        for other in loops.dropFirst() { #expect(try await frames(of: other) != first) }
    }
}
