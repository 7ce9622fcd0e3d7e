import NIOCore
import Testing

@testable import Transport

@Suite("Frame decoder")
struct FrameDecoderTests {
    private func decode(_ stream: [UInt8], in pieces: Int) throws -> (frames: [[UInt8]], isMidFrame: Bool) {
        var decoder = FrameDecoder()
        var frames: [[UInt8]] = []
        for start in stride(from: 0, to: stream.count, by: pieces) {
            decoder.receive(ByteBuffer(bytes: stream[start..<min(start + pieces, stream.count)]))
            while let frame = try decoder.next() { frames.append(frame) }
        }
        return (frames, decoder.isMidFrame)
    }

    @Test("frames are decoded in any split of the stream", arguments: [1, 2, 3, 5, 7, 100_000])
    func whole(pieces: Int) throws {
        let frames: [[UInt8]] = [[1], [2, 3], Array(repeating: 4, count: 70), Array(repeating: 5, count: 300)]
        var stream = ByteBuffer()
        for frame in frames { Frame.append(frame, to: &stream) }
        let (cut, isMidFrame) = try self.decode(Array(stream.readableBytesView), in: pieces)
        #expect(cut == frames)
        #expect(!isMidFrame)
    }

    @Test("the longest frame is accepted, and a length one greater is rejected before its bytes arrive")
    func longest() throws {
        var stream = ByteBuffer()
        Frame.append(Array(repeating: 9, count: 65_536), to: &stream)
        #expect(try self.decode(Array(stream.readableBytesView), in: 5000).frames.map(\.count) == [65_536])
        #expect(throws: FrameViolation.tooLong(byteCount: 65_537)) { try self.decode([0, 1, 0, 1], in: 4) }
    }

    @Test("an empty frame is rejected")
    func empty() {
        #expect(throws: FrameViolation.empty) { try self.decode([0, 0, 0, 0], in: 4) }
    }

    @Test("a truncated frame is not returned", arguments: [1, 3, 4, 6])
    func truncated(byteCount: Int) throws {
        let (frames, isMidFrame) = try self.decode(Array([0, 0, 0, 3, 1, 2, 3].prefix(byteCount)), in: 10)
        #expect(frames.isEmpty)
        #expect(isMidFrame)
    }
}
