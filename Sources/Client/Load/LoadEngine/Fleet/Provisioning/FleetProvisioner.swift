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

    /// Waits before the next attempt; returns early if no more wallets need to be registered.
    private func pause(atLeast least: Duration, _ backoff: inout Backoff) async {
        var generator = SystemRandomNumberGenerator()
        let pause = max(min(least, Backoff.longest), backoff.nextPause(using: &generator))
        let end = ContinuousClock.now + pause
        while .now < end, !self.queue.isClosed { try? await Task.sleep(for: min(end - .now, .milliseconds(250))) }
    }

    /// Registers wallets on a single connection until none are left; returns the failure that ended it.
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
        default: throw .unexpectedAnswer
        }
    }

    // MARK: - Failures

    /// Returns whether a later attempt may succeed; records the failure for the progress display.
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

/// A free slot whose wallet is being registered.
struct PendingRegistration: Sendable {
    let slot: Int
    let platform: Platform
    /// The server's enrollment, until it is used or rejected.
    var enrollment: Enrollment?
    /// The number of registrations sent that got no response.
    var attempt: UInt32 = 0
}

/// A queue of free slots, each handed out to one lane at a time.
final class EnrollmentQueue: Sendable {
    private struct State {
        /// The number of gaps handed out so far.
        var gap = 0
        /// The next slot after all gaps.
        var tail: Int
        /// The number of registrations that may still be started.
        var left: Int
        /// Unfinished registrations.
        ///
        /// They are handed out first, because their enrollments expire.
        var returned: [PendingRegistration] = []
        var isClosed = false
    }

    private let gaps: [Int]
    private let end: Int
    private let share: PlatformShare
    private let state: Mutex<State>

    /// - Parameter goal: The number of wallets that the file should contain.
    init(_ fleet: Fleet, goal: Int, share: PlatformShare) {
        self.gaps = fleet.gaps
        self.end = fleet.slotCount
        self.share = share
        self.state = Mutex(State(tail: fleet.count + fleet.gaps.count, left: goal - fleet.count))
    }

    /// Returns the next registration, or nil if there are none left or the queue is closed.
    func take() -> PendingRegistration? {
        self.state.withLock { state in
            guard !state.isClosed else { return nil }
            if let returned = state.returned.popLast() { return returned }
            guard state.left > 0 else { return nil }
            let slot: Int
            if state.gap < self.gaps.count {
                slot = self.gaps[state.gap]
                state.gap += 1
            } else {
                guard state.tail < self.end else { return nil }
                slot = state.tail
                state.tail += 1
            }
            state.left -= 1
            return PendingRegistration(slot: slot, platform: self.share.platform(of: slot))
        }
    }

    /// Returns an unfinished registration to the queue.
    func putBack(_ wallet: PendingRegistration?) {
        guard let wallet else { return }
        self.state.withLock { $0.returned.append(wallet) }
    }

    /// Stops handing out registrations.
    func close() { self.state.withLock { $0.isClosed = true } }

    var isClosed: Bool { self.state.withLock(\.isClosed) }
}

/// The fraction of a fleet's wallets that are on iOS, in thousandths.
///
/// These wallets are evenly distributed.
package struct PlatformShare: Hashable, Sendable, CustomStringConvertible {
    /// The number of iOS wallets per thousand, in `0...1000`.
    package let thousandthsOfIOS: Int

    /// 30%.
    package static let standard = PlatformShare(unchecked: 300)

    /// Parses `30%`, `12.5%` or `0%`; returns nil for any other text.
    package init?(_ text: String) {
        guard text.hasSuffix("%"), let percent = Double(text.dropLast()), (0...100).contains(percent) else {
            return nil
        }
        let thousandths = (percent * 10).rounded()
        guard abs(thousandths - percent * 10) < 1e-9 else { return nil }
        self.init(unchecked: Int(thousandths))
    }

    private init(unchecked thousandths: Int) { self.thousandthsOfIOS = thousandths }

    /// Returns the platform for a slot, which never changes.
    ///
    /// Every range of slots has the right fraction of iOS wallets.
    func platform(of slot: Int) -> Platform {
        (slot + 1) * self.thousandthsOfIOS / 1000 > slot * self.thousandthsOfIOS / 1000 ? .iOS : .android
    }

    package var description: String {
        self.thousandthsOfIOS.isMultiple(of: 10)
            ? "\(self.thousandthsOfIOS / 10)%" : "\(self.thousandthsOfIOS / 10).\(self.thousandthsOfIOS % 10)%"
    }
}

package struct ProvisioningProgress: Hashable, Sendable {
    /// The number of wallets that the file should contain.
    package var total: Int
    /// The number of wallets that it contained at the start.
    package var before: Int
    /// The numbers of wallets registered since then, by platform.
    package var android = 0
    package var iOS = 0
    /// The number of registrations repeated because no response arrived.
    package var repeated = 0
    /// The current obstacle, or nil while wallets are being registered.
    package var trouble: FleetFailure?
    /// The time since the start.
    package var elapsed: Duration = .zero

    /// The number of wallets registered by this call.
    package var registered: Int { self.android + self.iOS }
    /// The number of wallets in the file.
    package var held: Int { self.before + self.registered }
    package var left: Int { max(0, self.total - self.held) }

    mutating func count(_ platform: Platform) {
        switch platform {
        case .android: self.android += 1
        case .iOS: self.iOS += 1
        }
        self.trouble = nil
    }
}

/// Measures the rate over a sliding window and estimates the remaining time.
package struct RateMeter: Sendable {
    private var samples: [(at: Duration, count: Int)] = []
    private let window: Duration

    /// - Parameter window: The length of the sliding window.
    package init(window: Duration = .seconds(10)) { self.window = window }

    /// Records the current value of an increasing count.
    package mutating func note(_ count: Int, at time: Duration) {
        self.samples.append((time, count))
        while self.samples.count > 2, time - self.samples[0].at > self.window { self.samples.removeFirst() }
    }

    /// The rate per second, or 0 if unknown.
    package var perSecond: Double {
        guard let first = self.samples.first, let last = self.samples.last, last.at > first.at else { return 0 }
        return Double(last.count - first.count) / ((last.at - first.at) / .seconds(1))
    }

    /// Estimates the time until this many more have been counted; returns nil if the rate is 0.
    package func time(for count: Int) -> Duration? {
        let rate = self.perSecond
        return rate > 0 ? .seconds((Double(count) / rate).rounded(.up)) : nil
    }
}
