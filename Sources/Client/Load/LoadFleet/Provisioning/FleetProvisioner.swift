internal import HostSystem
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// Registers wallets until a fleet file contains the desired number, as fast as the server accepts them.
///
/// Each lane has its own connection. A single flight carries the registration of one wallet and the start of the next,
/// so a wallet costs one round trip and no handshake. Evidence is created on the connection's event loop, and there is
/// one event loop per core. If a registration gets no response, it is repeated with the same token and a new PIN key
/// id. A rejected token is replaced.
package final class FleetProvisioner: Sendable {
    /// Settings for a registration.
    package struct Options: Sendable {
        /// The number of lanes.
        ///
        /// More lanes fill the server's batches better, up to its capacity.
        package var connections = 64
        package var share = PlatformShare.standard
        /// The timeout for connecting and for each response.
        package var timeout: Duration = .seconds(10)
        /// The time without progress after which the registration fails.
        ///
        /// It allows for a server restart.
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
        /// The time of the last registration, or of the start if there was none.
        var lastMove: ContinuousClock.Instant
        var failure: FleetFailure?
    }

    /// - Precondition: The fleet is new or was opened with ``Fleet/resume(_:wallets:for:)``.
    /// - Parameter goal: The number of wallets that the file should contain. Must not exceed the number it has room
    ///   for.
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

    /// The current progress.
    package var progress: ProvisioningProgress {
        let elapsed = ContinuousClock.now - self.start
        return self.state.withLock { state in
            var progress = state.progress
            progress.elapsed = elapsed
            return progress
        }
    }

    /// Starts no further registrations.
    ///
    /// ``run()`` returns once those in progress have ended.
    package func stop() { self.queue.close() }

    /// Registers wallets until the goal is reached or ``stop()`` is called.
    ///
    /// All of them are durable when this returns or throws.
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
        try mapError(self.fleet.flush(), to: FleetFailure.fleet)
        if let failure = self.state.withLock(\.failure) { throw failure }
    }

    /// Flushes the file regularly, to limit how many wallets a machine crash can lose.
    private func flushRegularly() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(2))
            do throws(FleetError) { try self.fleet.flush() } catch { self.giveUp(.fleet(error)) }
        }
    }

    // MARK: - Lanes

    private func lane() async {
        var backoff = Backoff()
        while let wallet = self.queue.take() {
            let before = self.progress.registered
            guard let failure = await self.connectAndRegister(wallet) else { continue }
            if self.progress.registered > before { backoff.reset() }
            guard self.mayTryAgain(after: failure) else { return self.giveUp(failure) }
            await self.pause(atLeast: failure.retryAfter, &backoff)
        }
    }

    /// Waits before the next attempt.
    ///
    /// Returns early if no more wallets need to be registered.
    private func pause(atLeast least: Duration, _ backoff: inout Backoff) async {
        var generator = SystemRandomNumberGenerator()
        let pause = max(min(least, Backoff.longest), backoff.nextPause(using: &generator))
        let end = ContinuousClock.now + pause
        while .now < end, !self.queue.isClosed { try? await Task.sleep(for: min(end - .now, .milliseconds(250))) }
    }

    /// Registers wallets on a single connection until none are left.
    ///
    /// Returns the failure that ended it.
    private func connectAndRegister(_ wallet: PendingRegistration) async -> FleetFailure? {
        let connection: ClientConnection
        do throws(FleetFailure) {
            connection = try await self.target.connect(tls: self.tls, timeout: self.options.timeout)
        } catch {
            self.queue.putBack(wallet)
            return error
        }
        defer { connection.close() }
        return await withTaskExecutorPreference(connection.executor) {
            await self.register(wallet, on: connection)
        }
    }

    private func register(_ first: PendingRegistration, on connection: ClientConnection) async -> FleetFailure? {
        var wallet = first
        do throws(FleetFailure) {
            try await self.begin(&wallet, on: connection)
        } catch {
            self.queue.putBack(wallet)
            return error
        }
        while let enrollment = wallet.enrollment {
            var next = self.queue.take()
            if let failure = await self.register(&wallet, enrollment, beginning: &next, on: connection) {
                self.queue.putBack(next)
                return failure
            }
            guard let following = next else { return nil }
            wallet = following
        }
        return nil
    }

    /// Sends Hello, and begins an enrollment if the wallet has none.
    private func begin(_ wallet: inout PendingRegistration, on connection: ClientConnection) async throws(FleetFailure)
    {
        let calls = [Registrar.hello] + (wallet.enrollment == nil ? [.beginEnrollment] : [])
        let answers = try await connection.flight(calls, timeout: self.options.timeout)
        for case .refused(let refusal) in answers { throw .refused(refusal.reason) }
        guard case .hello = answers.first else { throw .unexpectedAnswer }
        if wallet.enrollment == nil { wallet.enrollment = try Registrar.enrollment(answers.last) }
    }

    /// Registers one wallet and begins the next in a single flight.
    ///
    /// On failure, puts the wallet back into the queue and returns the failure.
    private func register(
        _ wallet: inout PendingRegistration,
        _ enrollment: Enrollment,
        beginning next: inout PendingRegistration?,
        on connection: ClientConnection
    ) async -> FleetFailure? {
        let call = self.registrar.call(enrollment, wallet.platform, attempt: wallet.attempt, on: connection)
        let begins = next.map { $0.enrollment == nil } ?? false
        let flight = [Call.register(call)] + (begins ? [.beginEnrollment] : [])
        let answers: [CallResult]
        do throws(FleetFailure) {
            answers = try await connection.flight(flight, timeout: self.options.timeout)
        } catch {
            // The server may have registered it. Repeat with the same token and another PIN key id.
            wallet.attempt += 1
            self.state.withLock { $0.progress.repeated += 1 }
            self.queue.putBack(wallet)
            return error
        }
        do throws(FleetFailure) {
            try self.keep(&wallet, enrollment, answers.first)
        } catch {
            self.queue.putBack(wallet)
            return error
        }
        do throws(FleetFailure) {
            if begins { next?.enrollment = try Registrar.enrollment(answers.last) }
            return nil
        } catch {
            return error
        }
    }

    /// Writes the wallet to the file if the server has registered it.
    private func keep(
        _ wallet: inout PendingRegistration,
        _ enrollment: Enrollment,
        _ answer: CallResult?
    ) throws(FleetFailure) {
        switch answer {
        case .register(let registration):
            let new = self.registrar.wallet(enrollment, wallet.platform, attempt: wallet.attempt, registration)
            try mapError(self.fleet.keep(new, in: wallet.slot), to: FleetFailure.fleet)
            let platform = wallet.platform
            self.state.withLock { state in
                state.progress.count(platform)
                state.lastMove = .now
            }
        case .refused(let refusal):
            // The token has expired or is from a server with another vault. Start over.
            if refusal.reason == .challengeInvalid {
                wallet = PendingRegistration(slot: wallet.slot, platform: wallet.platform)
            }
            throw .refused(refusal.reason)
        default:
            throw .unexpectedAnswer
        }
    }

    // MARK: - Failures

    /// Returns whether a later attempt may succeed.
    ///
    /// Records the failure for the progress display.
    private func mayTryAgain(after failure: FleetFailure) -> Bool {
        guard failure.isTransient || failure == .refused(.challengeInvalid) || failure == .refused(.internal) else {
            return false
        }
        let (patience, first) = (self.options.patience, min(self.options.patience, Self.initialPatience))
        return self.state.withLock { state in
            state.progress.trouble = failure
            // If a server has never responded, it is more likely to be absent than to be restarting.
            return .now - state.lastMove < (state.progress.registered == 0 ? first : patience)
        }
    }

    static let initialPatience: Duration = .seconds(5)

    private func giveUp(_ failure: FleetFailure) {
        self.state.withLock { $0.failure = $0.failure ?? failure }
        self.queue.close()
    }
}

extension FleetFailure {
    /// The pause requested by the server.
    fileprivate var retryAfter: Duration {
        switch self {
        case .refused(.rateLimited(let time)), .refused(.unavailable(let time)): time
        default: .zero
        }
    }
}
