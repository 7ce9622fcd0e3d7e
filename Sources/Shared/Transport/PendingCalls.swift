internal import NIOCore
internal import Secrets
internal import Synchronization
internal import Wire

/// A client connection's calls that are waiting for an answer.
///
/// Answers may arrive in any order.
final class PendingCalls<Answer: Sendable>: FrameReceiver {
    /// Decodes an answer and the id of its call.
    typealias Reader = @Sendable ([UInt8]) throws(WireError) -> (id: UInt64, answer: Answer)

    private struct Call {
        let waiter: CallWaiter<Answer>
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
    private let opened: EventLoopPromise<TLSHandshakeCompleted?>

    /// Adds the frame handler to the end of the channel's pipeline; must be called on the channel's event loop.
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

    /// Waits until the connection is ready for calls; throws a ``TLSFailure`` or an error from the channel.
    func open() async throws -> TLSHandshakeCompleted? { try await self.opened.futureResult.get() }

    /// Makes a call and waits for the answer.
    ///
    /// - Parameter encode: Encodes the request with the given id.
    func call(timeout: Duration, _ encode: (UInt64) -> [UInt8]) async throws(CallError) -> Answer {
        let id = self.takeIDs(1)
        let request = encode(id)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if self.begin(id, timeout: timeout, .alone(continuation)) { self.onLoop { $0.send(request) } }
            }
        } onCancel: {
            self.resolve(id, .failure(.cancelled))
        }
        return try result.get()
    }

    /// Sends several calls together, in order, and waits for all of the answers.
    func callTogether(timeout: Duration, _ encode: [(UInt64) -> [UInt8]]) async -> [Result<Answer, CallError>] {
        guard !encode.isEmpty else { return [] }
        let first = self.takeIDs(encode.count)
        let requests = encode.enumerated().map { place, encode in encode(first + UInt64(place)) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let group = CallGroup<Answer>(count: requests.count, continuation)
                var leaving: [[UInt8]] = []
                for (place, request) in requests.enumerated()
                where self.begin(first + UInt64(place), timeout: timeout, .together(group, place: place)) {
                    leaving.append(request)
                }
                self.onLoop { [leaving] handler in
                    for request in leaving { handler.send(request) }
                }
            }
        } onCancel: {
            for place in requests.indices { self.resolve(first + UInt64(place), .failure(.cancelled)) }
        }
    }

    /// Reserves consecutive ids and returns the first.
    private func takeIDs(_ count: Int) -> UInt64 {
        self.state.withLock { state in
            defer { state.lastID += UInt64(count) }
            return state.lastID + 1
        }
    }

    /// Registers a call; returns false if it has been resolved already and must not be sent.
    private func begin(_ id: UInt64, timeout: Duration, _ waiter: CallWaiter<Answer>) -> Bool {
        let timer = self.channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            self.resolve(id, .failure(.timedOut))
        }
        let isEnded = self.state.withLock { state in
            guard !state.isEnded else { return true }
            state.calls[id] = Call(waiter: waiter, timer: timer)
            return false
        }
        guard !isEnded else {
            timer.cancel()
            waiter.resume(returning: .failure(.closed))
            return false
        }
        // If the task was cancelled before the call was registered, there was no call to resolve, so check for that
        // here.
        guard !Task.isCancelled else {
            self.resolve(id, .failure(.cancelled))
            return false
        }
        return true
    }

    private func resolve(_ id: UInt64, _ result: Result<Answer, CallError>) {
        guard let call = self.state.withLock({ $0.calls.removeValue(forKey: id) }) else { return }
        call.timer.cancel()
        call.waiter.resume(returning: result)
    }

    private func end(_ error: CallError) {
        let calls = self.state.withLock { state in
            state.isEnded = true
            defer { state.calls = [:] }
            return state.calls.values.map { $0 }
        }
        for call in calls {
            call.timer.cancel()
            call.waiter.resume(returning: .failure(error))
        }
    }

    /// Closes the connection gracefully.
    ///
    /// Calls that are still waiting throw ``CallError/closed``.
    func close() {
        self.end(.closed)
        self.onLoop { $0.close() }
    }

    /// Waits until the connection has ended.
    func closed() async {
        // The future never fails: NIO succeeds it no matter how the channel was closed.
        try? await self.channel.closeFuture.get()
    }

    /// Whether calls can still be made.
    var isOpen: Bool { self.state.withLock { !$0.isEnded } }

    /// The executor of the connection's event loop, for tasks that make many calls.
    var executor: EventLoopTaskExecutor { .of(self.channel.eventLoop) }

    private func onLoop(_ act: @escaping @Sendable (FrameHandler) -> Void) {
        if self.channel.eventLoop.inEventLoop {
            act(self.handler.value)
        } else {
            self.channel.eventLoop.execute { act(self.handler.value) }
        }
    }

    // MARK: - For the handler

    func connectionOpened(_ opened: TLSHandshakeCompleted?) { self.opened.succeed(opened) }

    func receiveFrame(_ frame: consuming [UInt8]) -> Bool {
        // The frame may contain a share.
        defer { frame.wipe() }
        do throws(WireError) {
            let (id, answer) = try self.read(frame)
            // If the call is no longer waiting, its answer is dropped. Id 0 is the answer to a frame that was not a
            // request. The server closes the connection after that, which ends all calls.
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

    /// Does nothing, because a client only has a few connections, all to servers of its choice.
    func longFrameChanged(isHeld: Bool) {}

    func writabilityChanged(_ isWritable: Bool) {}

    func connectionEnded(_ failure: TLSFailure?) {
        self.end(.closed)
        if let failure { self.opened.fail(failure) } else { self.opened.fail(ChannelError.ioOnClosedChannel) }
    }
}

/// A task or group that is waiting for the answer to a call.
enum CallWaiter<Answer: Sendable>: Sendable {
    case alone(CheckedContinuation<Result<Answer, CallError>, Never>)
    /// The call was sent together with others.
    case together(CallGroup<Answer>, place: Int)

    func resume(returning result: Result<Answer, CallError>) {
        switch self {
        case .alone(let continuation): continuation.resume(returning: result)
        case .together(let group, let place): group.fill(place, with: result)
        }
    }
}

/// Collects the answers to calls that were sent together until all of them have arrived.
final class CallGroup<Answer: Sendable>: Sendable {
    typealias Results = [Result<Answer, CallError>]

    private struct State {
        var results: [Result<Answer, CallError>?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let continuation: CheckedContinuation<Results, Never>

    init(count: Int, _ continuation: CheckedContinuation<Results, Never>) {
        self.state = Mutex(State(results: Array(repeating: nil, count: count), missing: count))
        self.continuation = continuation
    }

    /// Stores the answer to the call at `place`.
    ///
    /// Each place may only be filled once.
    func fill(_ place: Int, with result: Result<Answer, CallError>) {
        let all: Results? = self.state.withLock { state in
            state.results[place] = result
            state.missing -= 1
            return state.missing == 0 ? state.results.compactMap { $0 } : nil
        }
        if let all { self.continuation.resume(returning: all) }
    }
}

/// An error from a call that was not answered.
///
/// The server may or may not have processed the call.
package enum CallError: Error, Hashable, Sendable {
    /// The connection has ended.
    ///
    /// Retry on a new one.
    case closed
    /// The answer did not arrive in time. The connection stays open, and a late answer is ignored.
    case timedOut
    /// The answer is invalid, and the connection has been closed.
    case malformed
    /// The calling task was cancelled.
    ///
    /// A late answer is ignored.
    case cancelled
}
