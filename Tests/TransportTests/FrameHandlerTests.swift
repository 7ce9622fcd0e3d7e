import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Transport

/// Records the calls of a handler; takes frames while it has room.
private final class Receiver: FrameReceiver {
    struct Calls {
        var frames: [[UInt8]] = []
        var violation: FrameViolation?
        var isEnded = false
        var room = Int.max
        var longFrames: [Bool] = []
    }

    let calls = Mutex(Calls())

    func connectionOpened(_ opened: TLSHandshakeCompleted?) {}

    func receiveFrame(_ frame: [UInt8]) -> Bool {
        self.calls.withLock { calls in
            calls.frames.append(frame)
            return calls.frames.count < calls.room
        }
    }

    func receiveViolation(_ violation: FrameViolation) { self.calls.withLock { $0.violation = violation } }

    func longFrameChanged(isHeld: Bool) { self.calls.withLock { $0.longFrames.append(isHeld) } }

    func writabilityChanged(_ isWritable: Bool) {}

    func connectionEnded(_ failure: TLSFailure?) { self.calls.withLock { $0.isEnded = true } }
}

/// Counts the reads that the handler requests.
private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    var reads = 0

    func read(context: ChannelHandlerContext) {
        self.reads += 1
        context.read()
    }
}

@Suite("Frame handler: timeouts and back-pressure")
final class FrameHandlerTests {
    private let receiver = Receiver()
    private let counter = ReadCounter()
    private let channel: EmbeddedChannel
    private let handler: FrameHandler

    init() throws {
        let limits = TransportLimits()
        self.handler = FrameHandler(limits: limits, idleLimit: limits.idleWithoutSession, isSecure: false)
        self.handler.receiver = self.receiver
        self.channel = EmbeddedChannel()
        try self.channel.pipeline.syncOperations.addHandlers([self.counter, self.handler])
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    deinit {
        // Pending output is irrelevant; an open channel and its handlers hold each other.
        _ = try? self.channel.finish(acceptAlreadyClosed: true)
    }

    private func advance(_ seconds: Int64) {
        self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
    }

    @Test("a peer that sends a byte a second is disconnected before its frame is complete")
    func byteBySecond() throws {
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 1, 0]))
        for second in 0..<9 {
            self.advance(1)
            #expect(self.channel.isActive, "after \(second + 1) s")
            try self.channel.writeInbound(ByteBuffer(bytes: [0]))
        }
        self.advance(1)
        #expect(!self.channel.isActive)
        #expect(self.receiver.calls.withLock { $0.isEnded })
    }

    @Test("a frame that is complete in time stops the frame timeout")
    func finished() throws {
        for _ in 0..<10 {
            try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 1]))
            self.advance(9)
            try self.channel.writeInbound(ByteBuffer(bytes: [7]))
            self.handler.send([8])
        }
        #expect(self.channel.isActive)
        #expect(self.receiver.calls.withLock { $0.frames.count } == 10)
    }

    @Test("a frame that begins together with the end of another one has the whole time")
    func overlapping() throws {
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 1]))
        for _ in 0..<10 {
            self.advance(9)
            try self.channel.writeInbound(ByteBuffer(bytes: [7, 0, 0, 0, 1]))
            self.handler.send([8])
        }
        #expect(self.channel.isActive)
        self.advance(10)
        #expect(!self.channel.isActive)
        #expect(self.receiver.calls.withLock { $0.frames.count } == 10)
    }

    @Test("a frame may arrive in 256 pieces, but not in more")
    func pieces() throws {
        let byte = ByteBuffer(bytes: [0])
        for _ in 0..<3 {
            try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 251]))
            for _ in 0..<251 { try self.channel.writeInbound(byte) }
        }
        #expect(self.channel.isActive)
        #expect(self.receiver.calls.withLock { $0.frames.count } == 3)
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 0]))
        for _ in 0..<255 { try self.channel.writeInbound(byte) }
        #expect(self.channel.isActive)
        try self.channel.writeInbound(byte)
        #expect(!self.channel.isActive)
    }

    @Test("a long frame counts as held from its length to its end")
    func longFrame() throws {
        func changes() -> [Bool] { self.receiver.calls.withLock { $0.longFrames } }
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 0]))
        try self.channel.writeInbound(ByteBuffer(repeating: 7, count: 4_096))
        #expect(changes() == [], "4 096 bytes are an ordinary frame")
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10]))
        #expect(changes() == [])
        try self.channel.writeInbound(ByteBuffer(bytes: [1]))
        try self.channel.writeInbound(ByteBuffer(repeating: 7, count: 4_096))
        #expect(changes() == [true])
        try self.channel.writeInbound(ByteBuffer(bytes: [7]))
        #expect(changes() == [true, false])
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 1] + [UInt8](repeating: 7, count: 4_097)))
        #expect(changes() == [true, false], "it arrived at once and was taken")
        #expect(self.receiver.calls.withLock { $0.frames.map(\.count) } == [4_096, 4_097, 4_097])
    }

    @Test("a long frame that waits for the receiver counts as held until it is taken")
    func longFrameWaits() throws {
        func changes() -> [Bool] { self.receiver.calls.withLock { $0.longFrames } }
        self.receiver.calls.withLock { $0.room = 1 }
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 1] + [UInt8](repeating: 7, count: 4_097)))
        #expect(changes() == [true])
        self.receiver.calls.withLock { $0.room = 2 }
        self.handler.resume()
        #expect(changes() == [true, false])
    }

    @Test("a connection without a session is closed after fifteen seconds without a useful answer")
    func idle() throws {
        self.advance(14)
        try self.call(isUse: true)
        self.advance(14)
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("useless calls do not keep a connection open, however many there are")
    func useless() throws {
        for _ in 0..<14 {
            self.advance(1)
            try self.call(isUse: false)
            try self.call(isUse: false)
        }
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("a call in progress at the idle deadline extends it by ten seconds, once", arguments: [true, false])
    func underWay(isUse: Bool) throws {
        self.advance(14)
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 1, 7]))
        self.advance(10)
        #expect(self.channel.isActive)
        self.handler.send([8], isUse: isUse)
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 1, 7]))
        self.advance(1)
        #expect(self.channel.isActive == isUse)
    }

    /// One call and its answer.
    private func call(isUse: Bool) throws {
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 1, 7]))
        self.handler.send([8], isUse: isUse)
    }

    @Test("a connection with a session is closed after half an hour without a call")
    func idleWithSession() {
        self.handler.allowIdleness(of: .seconds(1800))
        self.advance(1799)
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("while the receiver has no room, no frame is decoded and nothing is read")
    func room() throws {
        self.receiver.calls.withLock { $0.room = 16 }
        let stream = Array(repeating: [0, 0, 0, 1, 7] as [UInt8], count: 40).flatMap { $0 }
        let reads = self.counter.reads
        try self.channel.writeInbound(ByteBuffer(bytes: stream))
        #expect(self.receiver.calls.withLock { $0.frames.count } == 16)
        #expect(self.counter.reads == reads)
        self.receiver.calls.withLock { $0.room = 40 }
        self.handler.resume()
        #expect(self.receiver.calls.withLock { $0.frames.count } == 40)
        #expect(self.counter.reads == reads)
        self.receiver.calls.withLock { $0.room = 41 }
        self.handler.resume()
        #expect(self.counter.reads == reads + 1)
    }

    @Test("answers of one tick leave together, in order")
    func coalesced() throws {
        self.handler.send([1])
        self.handler.send([2, 2])
        #expect(try self.channel.readOutbound(as: ByteBuffer.self) == nil)
        self.channel.embeddedEventLoop.run()
        #expect(
            try self.channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [0, 0, 0, 1, 1, 0, 0, 0, 2, 2, 2])
        )
    }

    @Test("a peer that takes no bytes for ten seconds is disconnected")
    func stalled() {
        self.channel.isWritable = false
        self.channel.pipeline.fireChannelWritabilityChanged()
        self.advance(9)
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("after an invalid frame, no frame is decoded, but an answer can still be sent")
    func violated() throws {
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 0, 0, 0, 0, 1, 7]))
        #expect(self.receiver.calls.withLock { $0.violation } == .empty)
        #expect(self.receiver.calls.withLock { $0.frames.isEmpty })
        self.handler.send([3])
        self.handler.close()
        #expect(try self.channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [0, 0, 0, 1, 3]))
    }

    @Test("after an abort no byte leaves, not even of frames sent before")
    func aborted() throws {
        self.handler.send([1])
        self.handler.abort()
        self.channel.embeddedEventLoop.run()
        #expect(try self.channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(!self.channel.isActive)
    }
}
