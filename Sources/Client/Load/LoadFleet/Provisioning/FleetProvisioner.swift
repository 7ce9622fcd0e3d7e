internal import Lab
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// Registers wallets until a fleet's file holds as many as it should, as fast as the server takes them.
///
/// Each lane has a connection. In one flight go the registration of one wallet and the beginning of the next, so that
/// a wallet costs one round trip and no handshake; evidence is made on the connection's event loop, of which there is
/// one for each core. What gets no answer is repeated with its token and a new PIN key id; a token that is not taken
/// any more is dropped for a new one.
package final class FleetProvisioner: Sendable {
    /// How it is done.
    package struct Options: Sendable {
        /// Lanes; more of them fill the server's batches, up to what it can do.
        package var connections = 64
        package var share = PlatformShare.standard
        /// For a connection, and for an answer.
        package var timeout: Duration = .seconds(10)
        /// How long nothing may move before it is given up; a server that restarts is waited for.
        package var patience: Duration = .seconds(60)

        package init() {}
    }

    private let fleet: Fleet
    private let target: Target
    private let options: Options
    private let registrar: Registrar
    private let tls: TLSClientContext
    private let queue: EnrollmentQueue
    private let start = ContinuousClock.now
    private let state: Mutex<State>

    private struct State {
        var progress: ProvisioningProgress
        /// When the last wallet was registered, or the beginning.
        var lastMove: ContinuousClock.Instant
        var failure: FleetFailure?
        var isDone = false
    }

    /// - Precondition: the fleet was opened to be resumed, or is new.
    /// - Parameter goal: how many wallets the file is to hold then; no more than it has room for.
    package init(_ fleet: Fleet, goal: Int, at target: Target, options: Options) throws(Target.Problem) {
        self.fleet = fleet
        self.target = target
        self.options = options
        self.registrar = try Registrar(for: fleet, at: target)
        self.tls = try target.tls(resuming: false)
        self.queue = EnrollmentQueue(fleet, goal: goal, share: options.share)
        self.state = Mutex(
            State(
                progress: ProvisioningProgress(total: max(goal, fleet.count), before: fleet.count),
                lastMove: self.start
            )
        )
    }

    /// How far it is, at any time.
    package var progress: ProvisioningProgress {
        let elapsed = ContinuousClock.now - self.start
        return self.state.withLock { state in
            var progress = state.progress
            progress.elapsed = elapsed
            return progress
        }
    }

    /// Begins no more; what is under way is finished, and ``run()`` returns.
    package func stop() { self.queue.close() }

    /// Registers until there are enough or ``stop()``; what is registered is on the disk when this returns or throws.
    package func run() async throws(FleetFailure) {
        await withTaskGroup { group in
            group.addTask { await self.flushRegularly() }
            await withTaskGroup { lanes in
                for _ in 0..<min(self.options.connections, self.progress.left) {
                    lanes.addTask { await self.lane() }
                }
            }
            group.cancelAll()
        }
        do throws(FleetError) { try self.fleet.flush() } catch { throw .fleet(error) }
        if let failure = self.state.withLock(\.failure) { throw failure }
    }

    /// Bounds what a machine that ends takes with it.
    private func flushRegularly() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(2))
            do throws(FleetError) { try self.fleet.flush() } catch { self.giveUp(.fleet(error)) }
        }
    }

    // MARK: - A lane

    private func lane() async {
        var pause = Pause()
        while let wallet = self.queue.take() {
            let before = self.progress.registered
            guard let failure = await self.connectAndRegister(wallet) else { continue }
            if self.progress.registered > before { pause = Pause() }
            guard self.mayTryAgain(after: failure) else { return self.giveUp(failure) }
            await pause.wait(atLeast: failure.retryAfter, unless: { self.queue.isClosed })
        }
    }

    /// Registers on one connection until nothing is left; what went wrong otherwise.
    private func connectAndRegister(_ wallet: PendingWallet) async -> FleetFailure? {
        let connection: ClientConnection
        do throws(FleetFailure) {
            connection = try await self.target.connect(tls: self.tls, timeout: self.options.timeout)
        } catch {
            self.queue.giveBack(wallet)
            return error
        }
        defer { connection.close() }
        return await withTaskExecutorPreference(connection.executor) {
            await self.register(wallet, on: connection)
        }
    }

    private func register(_ first: PendingWallet, on connection: ClientConnection) async -> FleetFailure? {
        var wallet = first
        do throws(FleetFailure) {
            try await self.begin(&wallet, on: connection)
        } catch {
            self.queue.giveBack(wallet)
            return error
        }
        while let enrollment = wallet.enrollment {
            var next = self.queue.take()
            if let failure = await self.register(&wallet, enrollment, beginning: &next, on: connection) {
                self.queue.giveBack(next)
                return failure
            }
            guard let following = next else { return nil }
            wallet = following
        }
        return nil
    }

    /// Says hello, and begins an enrollment where there is none.
    private func begin(_ wallet: inout PendingWallet, on connection: ClientConnection) async throws(FleetFailure) {
        let calls = [Registrar.hello] + (wallet.enrollment == nil ? [.beginEnrollment] : [])
        let answers = try await connection.flight(calls, timeout: self.options.timeout)
        for case .refused(let refusal) in answers { throw .refused(refusal.reason) }
        guard case .hello = answers.first else { throw .unexpectedAnswer }
        if wallet.enrollment == nil { wallet.enrollment = try Self.enrollment(answers.last) }
    }

    /// Registers one wallet and begins the next in the same flight; what went wrong otherwise, with the wallet given back.
    private func register(
        _ wallet: inout PendingWallet,
        _ enrollment: Enrollment,
        beginning next: inout PendingWallet?,
        on connection: ClientConnection
    ) async -> FleetFailure? {
        let call = self.registrar.call(enrollment, wallet.platform, attempt: wallet.attempt, on: connection)
        let begins = next.map { $0.enrollment == nil } ?? false
        let flight = [Call.register(call)] + (begins ? [.beginEnrollment] : [])
        let answers: [CallResult]
        do throws(FleetFailure) {
            answers = try await connection.flight(flight, timeout: self.options.timeout)
        } catch {
            // The server may have it: the same token again, and another PIN key id.
            wallet.attempt += 1
            self.state.withLock { $0.progress.repeated += 1 }
            self.queue.giveBack(wallet)
            return error
        }
        do throws(FleetFailure) {
            try self.keep(&wallet, enrollment, answers.first)
        } catch {
            self.queue.giveBack(wallet)
            return error
        }
        do throws(FleetFailure) {
            if begins { next?.enrollment = try Self.enrollment(answers.last) }
            return nil
        } catch {
            return error
        }
    }

    /// Writes the wallet into the file, if the server has it now.
    private func keep(
        _ wallet: inout PendingWallet,
        _ enrollment: Enrollment,
        _ answer: CallResult?
    ) throws(FleetFailure) {
        switch answer {
        case .register(let registration):
            let new = self.registrar.wallet(enrollment, wallet.platform, attempt: wallet.attempt, registration)
            do throws(FleetError) { try self.fleet.keep(new, in: wallet.slot) } catch { throw .fleet(error) }
            let platform = wallet.platform
            self.state.withLock { state in
                state.progress.count(platform)
                state.lastMove = .now
            }
        case .refused(let refusal):
            // Too old by now, or of a server with another vault: begin anew.
            if refusal.reason == .challengeInvalid {
                wallet = PendingWallet(slot: wallet.slot, platform: wallet.platform)
            }
            throw .refused(refusal.reason)
        default:
            throw .unexpectedAnswer
        }
    }

    private static func enrollment(_ answer: CallResult?) throws(FleetFailure) -> Enrollment {
        switch answer {
        case .beginEnrollment(let enrollment): return enrollment
        case .refused(let refusal): throw .refused(refusal.reason)
        default: throw .unexpectedAnswer
        }
    }

    // MARK: - Trouble

    /// Whether the same may go better in a while; notes what keeps it.
    private func mayTryAgain(after failure: FleetFailure) -> Bool {
        guard failure.isTransient || failure == .refused(.challengeInvalid) || failure == .refused(.internal) else {
            return false
        }
        let (patience, first) = (self.options.patience, min(self.options.patience, Self.patienceAtFirst))
        return self.state.withLock { state in
            state.progress.trouble = failure
            // A server that never answered is more likely not there than restarting.
            return .now - state.lastMove < (state.progress.registered == 0 ? first : patience)
        }
    }

    static let patienceAtFirst: Duration = .seconds(5)

    private func giveUp(_ failure: FleetFailure) {
        self.state.withLock { $0.failure = $0.failure ?? failure }
        self.queue.close()
    }
}

extension FleetFailure {
    /// When the server asks to be tried again.
    fileprivate var retryAfter: Duration {
        switch self {
        case .refused(.rateLimited(let time)), .refused(.unavailable(let time)): time
        default: .zero
        }
    }
}

/// Times between tries: longer each time, never the same for two lanes.
struct Pause {
    private var next: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(2)
    /// How soon a stop is noticed.
    private static let step: Duration = .milliseconds(250)

    /// Waits, unless `isOver` says that there is nothing to wait for.
    mutating func wait(atLeast least: Duration, unless isOver: () -> Bool) async {
        var left = max(min(least, Self.longest), self.next * Double.random(in: 0.5...1))
        self.next = min(self.next * 2, Self.longest)
        while left > .zero, !isOver() {
            try? await Task.sleep(for: min(left, Self.step))
            left -= Self.step
        }
    }
}
