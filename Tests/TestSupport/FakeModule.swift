internal import HostSystem
internal import NIOCore
internal import NIOPosix
internal import Secrets
internal import Synchronization
internal import Vocabulary

/// The daemon of a module in the test's process: answers each `mac` line as `remote-pin-keys` does, or fails as the
/// test demands.
package final class FakeModule: Sendable {
    /// A deviation from the protocol.
    package enum Fault: Sendable {
        /// The right answer after this time.
        case late(Duration)
        /// The right answer once the test calls ``release()``, or none.
        case held
        case closeBeforeAnswer
        case closeWithinAnswer
        case closeAfterAnswer
        /// This text instead of the answer, such as `busy 50\n`, a line that is too long, or two lines.
        case text(String)
    }

    private struct State {
        var listener: (any Channel)?
        var connections: [any Channel] = []
        var faults: [(fault: Fault, label: String?, left: Int)] = []
        var held: [@Sendable () -> Void] = []
        var labels: [String] = []
    }

    package let path: String
    /// The roots, which a module would not reveal.
    package let roots: [String: [UInt8]]
    private let keys: [String: HMACKey]
    private let state = Mutex(State())

    /// - Parameter roots: The 32-byte root behind each label.
    package init(at path: String, roots: [String: [UInt8]]) {
        (self.path, self.roots) = (path, roots)
        self.keys = roots.mapValues { HMACKey(extractedFrom: SecretBytes(copying: $0)) }
    }

    deinit { self.state.withLock(\.listener)?.close(promise: nil) }

    /// Creates the daemon of a module that has the roots of a key file, and of the next versions.
    ///
    /// - Parameter moving: Whether the file refers to the module from now on.
    package convenience init(at path: String, rootsOf keyFile: String, moving: Bool = true) throws {
        var roots: [String: [UInt8]] = [:]
        for number in 2...10 {
            for kind in ["key", "history"] { roots["\(kind)-\(number)"] = [UInt8](repeating: UInt8(number), count: 32) }
        }
        let text = String(decoding: try DurableFile.read(keyFile, atMost: 1 << 16), as: UTF8.self)
        let lines = text.split(separator: "\n").map { line in
            var words = line.split(separator: " ").map(String.init)
            guard let digits = words.dropLast().last, digits.count == 64 else { return String(line) }
            roots[words.dropLast(2).joined(separator: "-")] = [UInt8](hex: digits)
            words[words.count - 2] = "module"
            return words.joined(separator: " ")
        }
        self.init(at: path, roots: roots)
        guard moving else { return }
        try DurableFile.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: keyFile, mode: 0o600)
    }

    /// Listens at the path, also again after ``stop()``.
    package func start() async throws {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { [weak self] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let self else { throw ChannelError.inputClosed }
                    self.state.withLock { $0.connections.append(channel) }
                    try channel.pipeline.syncOperations.addHandler(Lines(self))
                }
            }
            .bind(unixDomainSocketPath: self.path, cleanupExistingSocketFile: true).get()
        self.state.withLock { $0.listener = listener }
    }

    /// Ends the daemon as SIGKILL does: the socket's file stays, and no process listens.
    package func stop() async throws {
        let listener = self.state.withLock { $0.listener.take() }
        try await listener?.close()
        try await self.cut()
    }

    /// Closes the connections, or the oldest `count` of them.
    package func cut(_ count: Int = .max) async throws {
        let cut = self.state.withLock { state in
            defer { state.connections = Array(state.connections.dropFirst(count)) }
            return Array(state.connections.prefix(count))
        }
        for channel in cut where channel.isActive { try? await channel.close() }
    }

    /// Fails the next requests, or all further ones, for one label or for all.
    package func fail(_ fault: Fault, for label: String? = nil, times: Int = .max) {
        self.state.withLock { $0.faults.append((fault, label, times)) }
    }

    /// Answers correctly from now on.
    package func recover() { self.state.withLock { $0.faults = [] } }

    /// Sends the answers that ``Fault/held`` holds back.
    package func release() {
        let held = self.state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for answer in held { answer() }
    }

    /// The labels of all requests so far, in order.
    package var requestedLabels: [String] { self.state.withLock(\.labels) }

    /// The number of open connections.
    package var connectionCount: Int { self.state.withLock { $0.connections.count(where: \.isActive) } }

    /// The answer of a module without faults.
    private func answer(_ words: [Substring]) -> String {
        guard words.count == 3, words[0] == "mac", words[2].utf8.count <= 256, words[2].allSatisfy(\.isHexDigit),
            let message = [UInt8](hex: String(words[2])), !message.isEmpty
        else { return "failed request\n" }
        return self.keys[String(words[1])].map { "ok \($0.code(of: message).hex)\n" } ?? "unknown\n"
    }

    private func serve(_ line: String, on channel: any Channel) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let label = words.count > 1 ? String(words[1]) : ""
        let answer = self.answer(words)
        @Sendable func send(_ text: String) -> EventLoopFuture<Void> {
            channel.writeAndFlush(ByteBuffer(string: text))
        }
        let fault = self.state.withLock { state -> Fault? in
            state.labels.append(label)
            guard let index = state.faults.firstIndex(where: { ($0.label ?? label) == label && $0.left > 0 }) else {
                return nil
            }
            state.faults[index].left -= 1
            // In one step with the label, because a test that has seen it may release the answer.
            if case .held = state.faults[index].fault { state.held.append { _ = send(answer) } }
            return state.faults[index].fault
        }
        switch fault {
        case nil: _ = send(answer)
        case .late(let time): channel.eventLoop.scheduleTask(in: TimeAmount(time)) { _ = send(answer) }
        case .held: break
        case .text(let text): _ = send(text)
        case .closeBeforeAnswer: channel.close(promise: nil)
        case .closeWithinAnswer: send(String(answer.prefix(20))).whenComplete { _ in channel.close(promise: nil) }
        case .closeAfterAnswer: send(answer).whenComplete { _ in channel.close(promise: nil) }
        }
    }

    /// Splits a connection's bytes into lines.
    private final class Lines: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let module: FakeModule
        private var text = ""

        init(_ module: FakeModule) {
            self.module = module
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.text += String(buffer: self.unwrapInboundIn(data))
            while let end = self.text.firstIndex(of: "\n") {
                let line = String(self.text[..<end])
                self.text.removeSubrange(...end)
                self.module.serve(line, on: context.channel)
            }
        }
    }
}
