internal import NIOCore
internal import NIOPosix
internal import Secrets
internal import Synchronization
internal import Vocabulary

/// The reason a module computed no code.
enum ModuleFailure: Error, Hashable {
    /// The module has no key of this name.
    case unknown
    /// The daemon did not answer in time, or cannot use the module.
    case unreachable
}

/// The client of the daemon that computes with the roots in a module (docs/keys.md).
///
///     request ──▶ queue ──▶ connection, once the keys behind it were checked ──line──▶ daemon
///
/// A request has one time limit, counted from its arrival. After three failures in a row, requests fail at once until a
/// new connection is ready; one is attempted each second.
package final class ModuleKeys: Sendable {
    package let socket: String
    private let timeLimit: Duration
    private let loop: any EventLoop
    private let connections: NIOLoopBoundBox<ModuleConnections>
    private let state: ModuleState

    package init(socket: String, connections: Int = 8, timeLimit: Duration = .seconds(2)) {
        let (loop, state) = (MultiThreadedEventLoopGroup.singleton.next(), ModuleState())
        (self.socket, self.timeLimit, self.loop, self.state) = (socket, timeLimit, loop, state)
        self.connections = .makeBoxSendingValue(
            ModuleConnections(to: socket, atMost: connections, timeLimit: timeLimit, on: loop, state),
            eventLoop: loop
        )
    }

    deinit {
        let connections = self.connections
        self.loop.execute { connections.value.close() }
    }

    /// The reason the module cannot be used, or nil if it can.
    package var problem: String? { self.state.problem.withLock { $0 } }

    /// Calls `observe` with the reason whenever the module becomes unreachable, and with nil when it can be used again.
    package func onChange(_ observe: @escaping @Sendable (_ problem: String?) -> Void) {
        self.state.observe.withLock { $0 = observe }
    }

    /// Requires these keys of each connection before its next use.
    ///
    /// Threat: after the daemon was restarted with another module, values would be sealed with keys that no key file
    /// names.
    func expect(_ roots: [KeyRoot]) {
        // A root would keep this module, which would keep its connections for ever.
        let keys = roots.map { ExpectedKey(name: $0.name, check: $0.check) }
        self.loop.execute { [connections] in connections.value.expect(keys) }
    }

    /// Returns HMAC-SHA256 of a message under a root's pseudorandom key.
    ///
    /// A busy daemon is asked again after the time that it names, until the request's time limit. The pauses grow, so
    /// that many callers do not occupy it with refusals.
    func code(of message: [UInt8], under name: RootName) async throws(ModuleFailure) -> ModuleCode {
        let deadline = NIODeadline.now() + TimeAmount(self.timeLimit)
        var answer = await self.ask(message, name, deadline)
        var shortest = TimeAmount.milliseconds(1)
        while case .busy(let named) = answer {
            let wait = max(named, shortest)
            guard .now() + wait < deadline, (try? await Task.sleep(for: .nanoseconds(wait.nanoseconds))) != nil else {
                break
            }
            shortest = shortest + .milliseconds(1)
            answer = await self.ask(message, name, deadline)
        }
        switch answer {
        case .code(let code): return code
        case .unknown: throw .unknown
        case .busy, .failed: throw .unreachable
        }
    }

    private func ask(_ message: [UInt8], _ name: RootName, _ deadline: NIODeadline) async -> ModuleAnswer {
        let answer = self.loop.flatSubmit { [connections] in connections.value.ask(message, name, deadline) }
        return (try? await answer.get()) ?? .failed("the event loop has ended")
    }
}

/// A key that the module must have.
private struct ExpectedKey: Hashable {
    let name: RootName
    let check: [UInt8]
}

/// The state that other threads read.
private final class ModuleState: Sendable {
    let problem = Mutex<String?>(nil)
    let observe = Mutex<@Sendable (String?) -> Void>({ _ in })

    func change(_ problem: String?) {
        self.problem.withLock { $0 = problem }
        self.observe.withLock { $0 }(problem)
    }
}

/// A code, from which keys are derived.
///
/// This is a class because a promise cannot hold a noncopyable secret.
final class ModuleCode: Sendable {
    static let byteCount = 32

    let bytes: SecretBytes

    /// Returns nil unless the digits are those of a code.
    init?(hexadecimal digits: RawSpan) {
        guard let bytes = SecretBytes(hexadecimal: digits), bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    func starts(with check: [UInt8]) -> Bool {
        self.bytes.withBytes { span in check.indices.allSatisfy { span.byte(at: $0) == check[$0] } }
    }
}

/// An answer, or the reason there is none.
enum ModuleAnswer: Sendable {
    case code(ModuleCode)
    case unknown
    case busy(TimeAmount)
    case failed(String)

    /// Returns nil if the line is none of the protocol.
    ///
    /// The digits of a code are decoded without a copy that would not be wiped.
    init?(line: RawSpan) {
        let ok = Array("ok ".utf8)
        if line.byteCount >= ok.count, ok.indices.allSatisfy({ line.byte(at: $0) == ok[$0] }) {
            guard let code = ModuleCode(hexadecimal: line.extracting(ok.count..<line.byteCount)) else { return nil }
            self = .code(code)
            return
        }
        let text = String(decoding: (0..<line.byteCount).map { line.byte(at: $0) }, as: UTF8.self)
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        switch (words.first, words.count) {
        case ("unknown", 1): self = .unknown
        case ("busy", 2):
            guard let milliseconds = UInt32(words[1]) else { return nil }
            self = .busy(.milliseconds(Int64(milliseconds)))
        case ("failed", 2) where words[1].allSatisfy(\.isLetter): self = .failed("it answers `failed \(words[1])`")
        default: return nil
        }
    }
}

/// The bytes of an answer until its line is complete.
///
/// Both the line and the buffers in which it arrives are wiped, since it may contain the key of a wallet.
struct ModuleLine {
    enum Taken {
        case incomplete
        case answer(ModuleAnswer)
        /// The bytes are no line of the protocol.
        case invalid
    }

    private static let longest = 80

    private var bytes: [UInt8] = []

    /// Adds received bytes, which are wiped.
    mutating func take(_ received: some Collection<UInt8>) -> Taken {
        defer { received.wipeShared() }
        guard self.bytes.count + received.count <= Self.longest else {
            self.wipe()
            return .invalid
        }
        // Growth would leave a copy.
        if self.bytes.isEmpty { self.bytes.reserveCapacity(Self.longest) }
        self.bytes += received
        guard let end = self.bytes.firstIndex(of: UInt8(ascii: "\n")) else { return .incomplete }
        let text = SecretBytes(wiping: &self.bytes)
        // A second line could become the answer to another request.
        guard end == text.count - 1,
            let answer = text.withBytes({ span in ModuleAnswer(line: span.extracting(0..<end)) })
        else { return .invalid }
        return .answer(answer)
    }

    mutating func wipe() { self.bytes.wipe() }
}

/// The requests and connections, all on one event loop.
private final class ModuleConnections {
    private static let longestQueue = 1_024
    private static let mostFailures = 3
    private static let pause = TimeAmount.seconds(1)

    private let socket: String
    private let limit: Int
    private let timeLimit: TimeAmount
    private let loop: any EventLoop
    private let state: ModuleState
    private var waiting: [ModuleRequest] = []
    private var open: [ModuleConnection] = []
    private var idle: [ModuleConnection] = []
    private var connecting = 0
    private var expected: [ExpectedKey] = []
    /// The failures since the last answer.
    private var failures = 0
    private var attempt: Scheduled<Void>?
    private var isClosed = false

    init(to socket: String, atMost limit: Int, timeLimit: Duration, on loop: any EventLoop, _ state: ModuleState) {
        (self.socket, self.limit, self.loop, self.state) = (socket, limit, loop, state)
        self.timeLimit = TimeAmount(timeLimit)
    }

    private var isUnreachable: Bool { self.failures >= Self.mostFailures }

    func expect(_ keys: [ExpectedKey]) {
        guard self.expected != keys else { return }
        self.expected = keys
        for connection in self.open { connection.unchecked = keys }
        let idle = self.idle
        self.idle = []
        for connection in idle { self.free(connection) }
    }

    func ask(_ message: [UInt8], _ name: RootName, _ deadline: NIODeadline) -> EventLoopFuture<ModuleAnswer> {
        let promise = self.loop.makePromise(of: ModuleAnswer.self)
        guard !self.isUnreachable, self.waiting.count < Self.longestQueue, !self.isClosed else {
            promise.succeed(.failed("the queue is full"))
            return promise.futureResult
        }
        let request = self.request(message, name, deadline) { answer in
            self.note(answer, name)
            promise.succeed(answer)
        }
        self.waiting.append(request)
        self.serve()
        return promise.futureResult
    }

    private func request(
        _ message: [UInt8],
        _ name: RootName,
        _ deadline: NIODeadline,
        _ end: @escaping (ModuleAnswer) -> Void
    ) -> ModuleRequest {
        let request = ModuleRequest(line: "mac \(name) \(message.hex)\n", end)
        request.timer = self.loop.assumeIsolated().scheduleTask(deadline: deadline) { self.expire(request) }
        return request
    }

    /// Ends a request that has waited too long.
    ///
    /// It is a failure of the module only if the daemon had a part of the time. Otherwise, the module is slower than
    /// the requests.
    ///
    /// Invariant: its connection is not used again. A late line would be taken as the answer to the next request, and
    /// give a wallet the key of another one.
    private func expire(_ request: ModuleRequest) {
        self.waiting.removeAll { $0 === request }
        let connection = self.open.first { $0.request === request }
        connection?.request = nil
        connection?.close()  // rule: vault-late-line-taken
        let part = TimeAmount.nanoseconds(self.timeLimit.nanoseconds / 4)
        guard let sent = request.sent, .now() - sent >= part else { return request.end(.busy(.zero)) }
        request.end(.failed("no answer within \(self.timeLimit.nanoseconds / 1_000_000) ms"))
    }

    /// Sends the newest requests first.
    ///
    /// If the module is slower than the requests, the oldest ones have so little time left that their answers would
    /// come too late.
    private func serve() {
        guard !self.isClosed else { return }
        while !self.waiting.isEmpty, let connection = self.idle.popLast() {
            connection.send(self.waiting.removeLast())
        }
        while self.waiting.count > self.connecting + self.open.count(where: { !$0.isReady }),
            self.open.count + self.connecting < self.limit
        {
            self.connect()
        }
    }

    private func connect() {
        self.connecting += 1
        ClientBootstrap(group: self.loop).connectTimeout(self.timeLimit).connect(unixDomainSocketPath: self.socket)
            .assumeIsolated().whenComplete { result in
                self.connecting -= 1
                do {
                    let channel = try result.get()
                    guard !self.isClosed else { return channel.close(promise: nil) }
                    let connection = ModuleConnection(channel, of: self, unchecked: self.expected)
                    try channel.pipeline.syncOperations.addHandler(connection)
                    self.open.append(connection)
                    self.free(connection)
                } catch {
                    self.notReady(.failed("cannot connect to \(self.socket): \(error)"))
                }
            }
    }

    /// Uses a connection that has no request, after the keys behind it were checked.
    func free(_ connection: ModuleConnection) {
        if connection.isPausing { return }
        guard let key = connection.unchecked.first else {
            if self.isUnreachable {
                self.failures = 0
                self.state.change(nil)
            }
            connection.isReady = true
            self.idle.append(connection)
            return self.serve()
        }
        connection.isReady = false
        self.check(key, behind: connection, until: .now() + self.timeLimit)
    }

    /// Checks a key behind a connection, again if the daemon was busy.
    private func check(_ key: ExpectedKey, behind connection: ModuleConnection, until deadline: NIODeadline) {
        connection.send(
            self.request(KeyRoot.checkMessage, key.name, deadline) { answer in
                switch answer {
                // rule: vault-restarted-module-accepted
                case .code(let code) where code.starts(with: key.check):
                    connection.unchecked.removeAll { $0 == key }
                    self.note(answer)
                case .busy(let wait) where .now() + wait < deadline:
                    connection.isPausing = true
                    self.loop.assumeIsolated().scheduleTask(in: wait) {
                        connection.isPausing = false
                        if !connection.isClosed { self.check(key, behind: connection, until: deadline) }
                    }
                case .busy, .failed:
                    connection.close()
                    self.notReady(answer)
                case .code, .unknown:
                    connection.close()
                    let digits = "with the check digits \(key.check.hex)"
                    self.notReady(.failed("the module has no key `\(key.name)` \(digits)"))
                }
            }
        )
    }

    /// Ends the request for which a connection was made.
    private func notReady(_ answer: ModuleAnswer) {
        if self.waiting.isEmpty { self.note(answer) } else { self.waiting.removeFirst().end(answer) }
        self.serve()
        self.keepOne()
    }

    /// Counts the failures in a row.
    ///
    /// - Parameter name: The key that was used. An expected key that the module lacks is a failure.
    private func note(_ answer: ModuleAnswer, _ name: RootName? = nil) {
        guard !self.isUnreachable else { return }
        let reason: String
        switch answer {
        case .busy: return
        case .failed(let failure): reason = failure
        case .code: return self.failures = 0
        case .unknown:
            guard let lacking = self.expected.first(where: { $0.name == name }) else { return self.failures = 0 }
            reason = "the module has no key `\(lacking.name)`"
        }
        self.failures += 1
        guard self.isUnreachable else { return }
        self.state.change(reason)
        let (open, waiting) = (self.open, self.waiting)
        self.waiting = []
        for connection in open { connection.close() }
        for request in waiting { request.end(.failed(reason)) }
        self.keepOne()
    }

    func ended(_ connection: ModuleConnection) {
        self.open.removeAll { $0 === connection }
        self.idle.removeAll { $0 === connection }
        // The request of one whose keys are being checked fails with the check.
        if connection.isReady || connection.isPausing, !self.isClosed { self.serve() }
        self.keepOne()
    }

    /// Connects after a pause if there is no connection, so that the daemon's end and its return are noticed.
    private func keepOne() {
        guard !self.expected.isEmpty || self.isUnreachable, self.open.isEmpty, self.connecting == 0,
            self.attempt == nil, !self.isClosed
        else { return }
        self.attempt = self.loop.assumeIsolated().scheduleTask(in: Self.pause) {
            self.attempt = nil
            if self.open.isEmpty, self.connecting == 0, !self.isClosed { self.connect() }
        }
    }

    func close() {
        self.isClosed = true
        self.attempt?.cancel()
        for connection in self.open { connection.close() }
    }
}

/// A request, from its arrival until it ends.
private final class ModuleRequest {
    let line: String
    var timer: Scheduled<Void>?
    /// The time at which the daemon got it.
    var sent: NIODeadline?
    private var onEnd: ((ModuleAnswer) -> Void)?

    init(line: String, _ onEnd: @escaping (ModuleAnswer) -> Void) {
        (self.line, self.onEnd) = (line, onEnd)
    }

    /// Ends the request, at most once.
    func end(_ answer: ModuleAnswer) {
        self.timer?.cancel()
        self.onEnd.take()?(answer)
    }
}

/// A connection to the daemon, with at most one request.
private final class ModuleConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let channel: any Channel
    private weak var pool: ModuleConnections?
    /// The keys that have to be checked before the connection is used.
    var unchecked: [ExpectedKey]
    /// Whether all keys were checked.
    var isReady = false
    /// Whether the check of a key waits because the daemon was busy.
    var isPausing = false
    var request: ModuleRequest?
    private var line = ModuleLine()
    private(set) var isClosed = false

    init(_ channel: any Channel, of pool: ModuleConnections, unchecked: [ExpectedKey]) {
        (self.channel, self.pool, self.unchecked) = (channel, pool, unchecked)
    }

    func send(_ request: ModuleRequest) {
        self.request = request
        request.sent = .now()
        self.channel.writeAndFlush(ByteBuffer(string: request.line), promise: nil)
    }

    func close() {
        self.isClosed = true
        self.line.wipe()
        self.channel.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.line.take(self.unwrapInboundIn(data).readableBytesView) {
        case .incomplete where self.request != nil: return
        case .answer(let answer):
            // A line without a request could become the answer to another one.
            guard let request = self.request.take() else { return self.close() }
            request.end(answer)
            if !self.isClosed { self.pool?.free(self) }
        case .incomplete, .invalid: self.close()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.isClosed = true
        self.line.wipe()
        self.pool?.ended(self)
        self.request.take()?.end(.failed("the daemon closed the connection, or sent no line of the protocol"))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
