internal import NIOCore
internal import Synchronization
internal import Vocabulary
internal import Wire

/// The calls of one client's connection that wait for their answers, which come in any order.
final class PendingCalls<Answer: Sendable>: FrameReceiver {
    /// Reads an answer and the id of its call.
    typealias Reader = @Sendable ([UInt8]) throws(WireError) -> (id: UInt64, answer: Answer)

    private struct Call {
        let continuation: CheckedContinuation<Result<Answer, CallError>, Never>
        let timer: Scheduled<Void>
    }

    private struct State {
        var lastID: UInt64 = 0
        var calls: [UInt64: Call] = [:]
        var isEnded = false
    }

    private let state = Mutex(State())
    private let channel: any Channel
    private let handler: NIOLoopBound<FrameHandler>
    private let read: Reader
    private let opened: EventLoopPromise<TLSOpened?>

    /// Adds the handler of frames to the end of the channel's pipeline, on the channel's event loop.
    init(on channel: any Channel, isSecure: Bool, read: @escaping Reader) throws {
        let handler = FrameHandler(limits: TransportLimits(), idleLimit: nil, isSecure: isSecure)
        self.channel = channel
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.read = read
        self.opened = channel.eventLoop.makePromise()
        handler.receiver = self
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            handler.receiver = nil
            self.opened.fail(error)
            throw error
        }
    }

    /// Waits until calls can be made; throws a ``TLSFailure`` or a channel's error.
    func open() async throws -> TLSOpened? {
        try await self.opened.futureResult.get()
    }

    /// Makes a call and waits for its answer.
    ///
    /// - Parameter encode: the bytes of the request with the id it is given.
    func call(timeout: Duration, _ encode: (UInt64) -> [UInt8]) async throws(CallError) -> Answer {
        let id = self.state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let request = encode(id)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.begin(id, request, timeout: timeout, continuation)
            }
        } onCancel: {
            self.resolve(id, .failure(.cancelled))
        }
        return try result.get()
    }

    private func begin(
        _ id: UInt64,
        _ request: [UInt8],
        timeout: Duration,
        _ continuation: CheckedContinuation<Result<Answer, CallError>, Never>
    ) {
        let timer = self.channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            self.resolve(id, .failure(.timedOut))
        }
        let isEnded = self.state.withLock { state in
            guard !state.isEnded else { return true }
            state.calls[id] = Call(continuation: continuation, timer: timer)
            return false
        }
        guard !isEnded else {
            timer.cancel()
            continuation.resume(returning: .failure(.closed))
            return
        }
        // Cancelled before the call was entered, which nothing but this look can find.
        if Task.isCancelled { return self.resolve(id, .failure(.cancelled)) }
        self.onLoop { $0.send(request) }
    }

    private func resolve(_ id: UInt64, _ result: Result<Answer, CallError>) {
        guard let call = self.state.withLock({ $0.calls.removeValue(forKey: id) }) else { return }
        call.timer.cancel()
        call.continuation.resume(returning: result)
    }

    private func end(_ error: CallError) {
        let calls = self.state.withLock { state in
            state.isEnded = true
            defer { state.calls = [:] }
            return state.calls.values.map { $0 }
        }
        for call in calls {
            call.timer.cancel()
            call.continuation.resume(returning: .failure(error))
        }
    }

    /// Ends the connection in an orderly way; calls without an answer throw ``CallError/closed``.
    func close() {
        self.end(.closed)
        self.onLoop { $0.close() }
    }

    /// Waits until the connection has ended.
    func closed() async {
        // The future never fails: NIO succeeds it whatever closed the channel.
        try? await self.channel.closeFuture.get()
    }

    /// Whether calls can still be made.
    var isOpen: Bool { self.state.withLock { !$0.isEnded } }

    /// Where tasks that make many calls run best.
    var executor: EventLoopTaskExecutor { EventLoopTaskExecutor(self.channel.eventLoop) }

    private func onLoop(_ act: @escaping @Sendable (FrameHandler) -> Void) {
        if self.channel.eventLoop.inEventLoop {
            act(self.handler.value)
        } else {
            self.channel.eventLoop.execute { act(self.handler.value) }
        }
    }

    // MARK: - What the handler tells

    func connectionOpened(_ opened: TLSOpened?) {
        self.opened.succeed(opened)
    }

    func receiveFrame(_ frame: [UInt8]) -> Bool {
        do throws(WireError) {
            let (id, answer) = try self.read(frame)
            // An answer to a call that is no longer waited for is dropped. Id 0 answers what was not a request, after
            // which the server ends the connection, and that ends the calls.
            self.resolve(id, .success(answer))
            return true
        } catch {
            if let id = error.id { self.resolve(id, .failure(.malformed)) }
            self.end(.malformed)
            self.handler.value.close()
            return false
        }
    }

    func receiveViolation(_ violation: FrameViolation) {
        self.end(.malformed)
        self.handler.value.close()
    }

    func writabilityChanged(_ isWritable: Bool) {}

    func connectionEnded(_ failure: TLSFailure?) {
        self.end(.closed)
        if let failure { self.opened.fail(failure) } else { self.opened.fail(ChannelError.ioOnClosedChannel) }
    }
}
