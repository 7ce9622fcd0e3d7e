internal import HistoryChecker
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
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
        let outcome = self.run.check(
            result,
            of: self.wallet,
            id,
            isWrong: false,
            in: session,
            at: self.run.clock.now
        )
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
            Flight(
                session: session,
                guesses: guesses.map { ($0, $1, self.invoke(isRight: $1, in: session)) }
            )
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
                Sample(.check, outcome, latency: ended - tally.start, serviceTime: ended - began)
            )
        }
    }

    private func invoke(isRight: Bool, in session: FleetSession) -> Int {
        self.wallet.invokes(
            .check(isRight: isRight, generation: Int(session.generation)),
            at: self.run.serverTime
        )
    }
}
