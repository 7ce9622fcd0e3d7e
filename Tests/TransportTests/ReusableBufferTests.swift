import NIOCore
import NIOPosix
import Testing

@testable import Transport

@Suite("Memory that an event loop uses again")
struct ReusableBufferTests {
    private let spare = ReusableBuffer()

    private func written(_ text: String, room: Int = 64) -> ByteBuffer {
        var buffer = self.spare.take(capacity: room)
        buffer.writeString(text)
        self.spare.keep(buffer)
        return buffer
    }

    @Test("what somebody still has is not written over")
    func held() {
        let first = self.written("first")
        let second = self.written("second, which is longer")
        let third = self.written("third")
        #expect([first, second, third].map { String(buffer: $0) } == ["first", "second, which is longer", "third"])
    }

    @Test("nothing of what it held before is in a buffer that is used again")
    func empty() {
        _ = self.written("before")
        #expect(self.spare.take(capacity: 1).readableBytes == 0)
    }

    @Test("memory that nobody has any more is used again, unless it is more than a call needs")
    func reuse() {
        _ = self.written("some", room: 2000)
        #expect(self.spare.take(capacity: 1).capacity >= 2000)
        _ = self.written("much", room: 100_000)
        #expect(self.spare.take(capacity: 1).capacity < 100_000)
    }

    @Test("what is wiped is gone from the memory, and stays where somebody still has it")
    func wiping() {
        /// What stands in the memory that the next one gets.
        func remains() -> String {
            var next = self.spare.take(capacity: 5)
            next.moveWriterIndex(to: 5)
            self.spare.keep(next)
            return String(buffer: next)
        }
        _ = self.written("share")
        #expect(remains() == "share", "the memory is the same")
        self.spare.wipe()
        #expect(remains() == "\0\0\0\0\0")

        let held = self.written("share")
        self.spare.wipe()
        #expect(String(buffer: held) == "share")
        _ = self.written("later")
        #expect(String(buffer: held) == "share")
    }

    @Test("connections of one event loop share them, those of two do not")
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
