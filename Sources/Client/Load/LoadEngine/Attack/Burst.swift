internal import HistoryChecker
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// A burst of guesses.
///
/// First opens sessions and signs all guesses, and then sends them all at the same time.
struct Burst {
    let run: RunContext
    let plan: BurstPlan
    let wallet: CheckedWallet

    /// The state of a wallet before a burst.
    enum Readiness {
        /// No wrong PINs are counted, and a session is open.
        case ready(FleetSession)
        case blocked(Duration)
        case never
    }

    /// Opens a session and checks the right PIN, so that a whole round of attempts is left.
    func prepare() async throws(FleetFailure) -> Readiness {
        let session = try await self.run.openSession(of: self.wallet, 0)
        switch session.opening.pinState {
        case .blocked(let remaining):
            session.close()
            return .blocked(remaining)
        case .blockedPermanently:
            session.close()
            return .never
        case .open: break
        }
        let id = self.invoke(isRight: true, in: session)
        let result = await session.result(of: session.prepareCheck(.right))
        let outcome = self.run.check(result, of: self.wallet, id, isWrong: false, in: session, at: self.run.clock.now)
        switch result {
        case .success where outcome == .valid: return .ready(session)
        // Reported as a violation, but the burst still shows how this server counts.
        case .failure(.falseShare): return .ready(session)
        // Reported as violations. Another wallet may tell us more.
        case .success, .failure(.strangePINKey), .failure(.unexpectedAnswer):
            session.close()
            return .never
        case .failure(let error):
            session.close()
            throw error
        }
    }

    /// Opens the other sessions.
    ///
    /// If one of them fails, closes all of them.
    private func openOthers(with first: FleetSession) async throws(FleetFailure) -> [FleetSession] {
        let (sessions, failure) = await concurrently(self.plan.connections - 1) { number throws(FleetFailure) in
            try await self.run.openSession(of: self.wallet, number + 1)
        }
        guard let failure else { return [first] + sessions }
        for session in [first] + sessions { session.close() }
        throw failure
    }

    /// Sends all guesses at the same time, with the right one at a random position.
    func send(
        from first: FleetSession,
        using generator: inout PlanGenerator
    ) async throws(FleetFailure) -> BurstResult {
        let sessions = try await self.openOthers(with: first)
        defer { for session in sessions { session.close() } }
        let flights = self.flights(over: sessions, using: &generator)
        let (tally, clock) = (BurstTally(), self.run.clock)
        let barrier = StartBarrier(count: flights.count) { tally.begin(at: clock.now) }
        await withTaskGroup(of: Void.self) { group in
            for flight in flights {
                group.addTask(executorPreference: flight.session.connection.executor) {
                    await barrier.arrive()
                    await self.send(flight, tally)
                }
            }
        }
        return tally.result
    }

    /// The guesses sent on one connection.
    private struct Flight: Sendable {
        let session: FleetSession
        let guesses: [(prepared: FleetSession.Prepared, isRight: Bool, id: Int)]
    }

    /// Signs all guesses and records them in the wallet's history, because they may arrive from this point on.
    private func flights(over sessions: [FleetSession], using generator: inout PlanGenerator) -> [Flight] {
        let right = Int.random(in: 0..<self.plan.size, using: &generator)
        let prepared = sessions.enumerated().map { place, session in
            stride(from: place, to: self.plan.size, by: sessions.count).map { guess in
                (session.prepareCheck(guess == right ? .right : .wrong(UInt32(guess))), guess == right)
            }
        }
        return zip(sessions, prepared).map { session, guesses in
            Flight(session: session, guesses: guesses.map { ($0, $1, self.invoke(isRight: $1, in: session)) })
        }
    }

    private func send(_ flight: Flight, _ tally: BurstTally) async {
        let began = self.run.clock.now
        tally.wrote(at: began)
        let results: [Result<FleetSession.Answer, FleetFailure>]
        do throws(FleetFailure) {
            results =
                flight.guesses.count == 1
                ? [await flight.session.result(of: flight.guesses[0].prepared)]
                : try await flight.session.sendTogether(flight.guesses.map(\.prepared))
        } catch {
            results = flight.guesses.map { _ in .failure(error) }
        }
        for (guess, result) in zip(flight.guesses, results) {
            let ended = self.run.clock.now
            let outcome = self.run.check(
                result,
                of: self.wallet,
                guess.id,
                isWrong: !guess.isRight,
                in: flight.session,
                at: ended
            )
            // If the server accepted a guess, it judged the guess, even if the share is wrong.
            let isFalseShare = if case .failure(.falseShare) = result { true } else { false }
            tally.answered(isFalseShare ? .valid : outcome, isRight: guess.isRight, at: ended)
            self.run.recorder.record(
                Sample(operation: .check, outcome: outcome, latency: ended - tally.start, serviceTime: ended - began)
            )
        }
    }

    private func invoke(isRight: Bool, in session: FleetSession) -> Int {
        self.wallet.invokes(.check(isRight: isRight, generation: Int(session.generation)), at: self.run.serverTime)
    }
}

struct BurstResult: Sendable {
    /// Whether the server accepted the right guess.
    var isRightIn = false
    /// The number of judged guesses, including the right one.
    ///
    /// If responses are missing, this is a lower bound.
    var judged = 0
    /// The number of guesses without a verdict.
    var failed = 0
    /// Whether the right guess has no verdict, so it is unknown whether it was accepted.
    var isRightUnknown = false
    /// The time between the first connection's write and the last connection's write.
    var spread = Duration.zero
    /// The number of connections that wrote before the first response arrived.
    var wroteBeforeAnswer = 0
    /// The number of connections that wrote.
    var wrote = 0
}

/// Counts the responses to a burst.
final class BurstTally: Sendable {
    private struct State {
        var result = BurstResult()
        var start = Duration.zero
        var firstWrite: Duration?
        var hasAnswer = false
    }

    private let state = Mutex(State())

    /// The time of the release.
    var start: Duration { self.state.withLock(\.start) }
    var result: BurstResult { self.state.withLock(\.result) }

    func begin(at time: Duration) { self.state.withLock { $0.start = time } }

    func wrote(at time: Duration) {
        self.state.withLock { state in
            let first = state.firstWrite ?? time
            state.firstWrite = min(first, time)
            state.result.spread = max(state.result.spread, time - first)
            state.result.wrote += 1
            if !state.hasAnswer { state.result.wroteBeforeAnswer += 1 }
        }
    }

    func answered(_ outcome: Outcome, isRight: Bool, at time: Duration) {
        self.state.withLock { state in
            state.hasAnswer = true
            switch outcome {
            case .valid:
                state.result.judged += 1
                if isRight { state.result.isRightIn = true }
            case .wrong: state.result.judged += 1
            case .blocked, .blockedPermanently: break
            case .changed, .registered, .failed:
                state.result.failed += 1
                if isRight { state.result.isRightUnknown = true }
            }
        }
    }
}

/// A barrier that releases all tasks at the same time, once the last one has arrived.
final class StartBarrier: Sendable {
    private let count: Int
    private let onRelease: @Sendable () -> Void
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

    /// - Parameter onRelease: Called just before the release.
    init(count: Int, onRelease: @escaping @Sendable () -> Void) {
        self.count = count
        self.onRelease = onRelease
    }

    /// Returns once all tasks have arrived.
    func arrive() async {
        await withCheckedContinuation { continuation in
            let released = self.waiting.withLock { waiting -> [CheckedContinuation<Void, Never>] in
                waiting.append(continuation)
                guard waiting.count == self.count else { return [] }
                defer { waiting = [] }
                return waiting
            }
            guard !released.isEmpty else { return }
            self.onRelease()
            for continuation in released { continuation.resume() }
        }
    }
}
