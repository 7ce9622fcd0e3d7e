import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Transport

/// Keeps what a handler tells; takes frames while it has room.
private final class Receiver: FrameReceiver {
    struct Told {
        var frames: [[UInt8]] = []
        var violation: FrameViolation?
        var isEnded = false
        var room = Int.max
        var longFrames: [Bool] = []
    }

    let told = Mutex(Told())

    func connectionOpened(_ opened: TLSHandshakeCompleted?) {}

    func receiveFrame(_ frame: [UInt8]) -> Bool {
        self.told.withLock { told in
            told.frames.append(frame)
            return told.frames.count < told.room
        }
    }

    func receiveViolation(_ violation: FrameViolation) { self.told.withLock { $0.violation = violation } }

    func longFrameChanged(isHeld: Bool) { self.told.withLock { $0.longFrames.append(isHeld) } }

    func writabilityChanged(_ isWritable: Bool) {}

    func connectionEnded(_ failure: TLSFailure?) { self.told.withLock { $0.isEnded = true } }
}

/// Counts how often the handler asks for more.
private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    var reads = 0

    func read(context: ChannelHandlerContext) {
        self.reads += 1
        context.read()
    }
}

@Suite("Time and room on one connection")
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
        // What is still waiting to leave does not matter; an open channel and its handlers hold each other.
        _ = try? self.channel.finish(acceptAlreadyClosed: true)
    }

    private func advance(_ seconds: Int64) {
        self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
    }

    @Test("a byte a second is not enough to finish a frame of 65 536")
    func byteBySecond() throws {
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 1, 0]))
        for second in 0..<9 {
            self.advance(1)
            #expect(self.channel.isActive, "after \(second + 1) s")
            try self.channel.writeInbound(ByteBuffer(bytes: [0]))
        }
        self.advance(1)
        #expect(!self.channel.isActive)
        #expect(self.receiver.told.withLock { $0.isEnded })
    }

    @Test("a frame that is finished in time stops the clock")
    func finished() throws {
        for _ in 0..<10 {
            try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 1]))
            self.advance(9)
            try self.channel.writeInbound(ByteBuffer(bytes: [7]))
            self.handler.send([8])
        }
        #expect(self.channel.isActive)
        #expect(self.receiver.told.withLock { $0.frames.count } == 10)
    }

    @Test("a frame may come in many pieces, and not in one for each byte")
    func pieces() throws {
        let byte = ByteBuffer(bytes: [0])
        for _ in 0..<3 {
            try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 251]))
            for _ in 0..<251 { try self.channel.writeInbound(byte) }
        }
        #expect(self.channel.isActive)
        #expect(self.receiver.told.withLock { $0.frames.count } == 3)
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 0]))
        for _ in 0..<255 { try self.channel.writeInbound(byte) }
        #expect(self.channel.isActive)
        try self.channel.writeInbound(byte)
        #expect(!self.channel.isActive)
    }

    @Test("a long frame is told of from its length to its end")
    func longFrame() throws {
        func told() -> [Bool] { self.receiver.told.withLock { $0.longFrames } }
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 0]))
        try self.channel.writeInbound(ByteBuffer(repeating: 7, count: 4_096))
        #expect(told() == [], "4 096 bytes are an ordinary frame")
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10]))
        #expect(told() == [])
        try self.channel.writeInbound(ByteBuffer(bytes: [1]))
        try self.channel.writeInbound(ByteBuffer(repeating: 7, count: 4_096))
        #expect(told() == [true])
        try self.channel.writeInbound(ByteBuffer(bytes: [7]))
        #expect(told() == [true, false])
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 1] + [UInt8](repeating: 7, count: 4_097)))
        #expect(told() == [true, false], "it came as a whole and was taken")
        #expect(self.receiver.told.withLock { $0.frames.map(\.count) } == [4_096, 4_097, 4_097])
    }

    @Test("a long frame that waits for the receiver is held until it is taken")
    func longFrameWaits() throws {
        func told() -> [Bool] { self.receiver.told.withLock { $0.longFrames } }
        self.receiver.told.withLock { $0.room = 1 }
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0x10, 1] + [UInt8](repeating: 7, count: 4_097)))
        #expect(told() == [true])
        self.receiver.told.withLock { $0.room = 2 }
        self.handler.resume()
        #expect(told() == [true, false])
    }

    @Test("a minute without a useful answer ends a connection without a session")
    func idle() throws {
        self.advance(59)
        try self.call(isUse: true)
        self.advance(59)
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("calls that are of no use keep no connection, however many there are")
    func useless() throws {
        for _ in 0..<59 {
            self.advance(1)
            try self.call(isUse: false)
            try self.call(isUse: false)
        }
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("a call that is being answered when the time is over has ten seconds more, once", arguments: [true, false])
    func underWay(isUse: Bool) throws {
        self.advance(59)
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

    @Test("half an hour without a call ends a connection with a session")
    func idleWithSession() {
        self.handler.allowIdleness(of: .seconds(1800))
        self.advance(1799)
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("while nobody takes frames, none are cut and nothing more is read")
    func room() throws {
        self.receiver.told.withLock { $0.room = 16 }
        let stream = Array(repeating: [0, 0, 0, 1, 7] as [UInt8], count: 40).flatMap { $0 }
        let reads = self.counter.reads
        try self.channel.writeInbound(ByteBuffer(bytes: stream))
        #expect(self.receiver.told.withLock { $0.frames.count } == 16)
        #expect(self.counter.reads == reads)
        self.receiver.told.withLock { $0.room = 40 }
        self.handler.resume()
        #expect(self.receiver.told.withLock { $0.frames.count } == 40)
        #expect(self.counter.reads == reads)
        self.receiver.told.withLock { $0.room = 41 }
        self.handler.resume()
        #expect(self.counter.reads == reads + 1)
    }

    @Test("answers of one turn leave together, in their order")
    func coalesced() throws {
        self.handler.send([1])
        self.handler.send([2, 2])
        #expect(try self.channel.readOutbound(as: ByteBuffer.self) == nil)
        self.channel.embeddedEventLoop.run()
        #expect(
            try self.channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [0, 0, 0, 1, 1, 0, 0, 0, 2, 2, 2])
        )
    }

    @Test("a peer that takes nothing for ten seconds is cut off")
    func stalled() {
        self.channel.isWritable = false
        self.channel.pipeline.fireChannelWritabilityChanged()
        self.advance(9)
        #expect(self.channel.isActive)
        self.advance(1)
        #expect(!self.channel.isActive)
    }

    @Test("after something that is not a frame, nothing is cut, and an answer can still be sent")
    func violated() throws {
        try self.channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 0, 0, 0, 0, 1, 7]))
        #expect(self.receiver.told.withLock { $0.violation } == .empty)
        #expect(self.receiver.told.withLock { $0.frames.isEmpty })
        self.handler.send([3])
        self.handler.close()
        #expect(try self.channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [0, 0, 0, 1, 3]))
    }

    @Test("after an abort nothing leaves, not even what was already handed over")
    func aborted() throws {
        self.handler.send([1])
        self.handler.abort()
        self.channel.embeddedEventLoop.run()
        #expect(try self.channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(!self.channel.isActive)
    }
}
