internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Synchronization
internal import Transport
internal import HistoryChecker
internal import Vocabulary
internal import Wire

/// One burst: sessions are opened and every guess is signed first, then all leave at once.
struct Burst {
    let run: RunContext
    let plan: BurstPlan
    let clock: RunClock
    let wallet: CheckedWallet

    /// What a wallet is good for at this moment.
    enum Readiness {
        /// Nothing is counted, and a session is open.
        case ready(FleetSession)
        /// In a block.
        case blocked(Duration)
        case never
    }

    private var now: Timestamp { self.clock.wall(at: self.clock.now) }

    /// Opens a session and, where wrong PINs may be counted, enters the right one, so that a whole round is left.
    func prepare() async throws(FleetFailure) -> Readiness {
        let session = try await self.open()
        switch session.opening.pinState {
        case .blocked(let remaining):
            session.close()
            return .blocked(remaining)
        case .blockedPermanently:
            session.close()
            return .never
        case .open: break
        }
        let id = self.wallet.sends(self.message(isRight: true, of: session), at: self.now)
        do throws(FleetFailure) {
            let result = try await session.check(.right)
            self.judge(result, id)
            guard result.verdict == .valid else {
                session.close()
                return .never
            }
            return .ready(session)
        } catch {
            self.judge(error, id, of: session, isWrong: false)
            // That is a violation by now; whether such a server counts is worth knowing all the more.
            if case .falseShare = error { return .ready(session) }
            session.close()
            switch error {
            // Noted as violations; another wallet may tell more.
            case .strangePINKey, .unexpectedAnswer: return .never
            case .connect, .call, .refused, .revoked, .falseShare, .fleet: throw error
            }
        }
    }

    /// A session of the wallet, judged from its opening on; an iOS proof that is refused is repeated once.
    private func open() async throws(FleetFailure) -> FleetSession {
        do throws(FleetFailure) {
            return try await self.attempt()
        } catch .refused(.authenticationFailed) where self.wallet.wallet.platform == .iOS {
            return try await self.attempt()
        }
    }

    private func attempt() async throws(FleetFailure) -> FleetSession {
        let connection = try await self.run.target.connect(tls: self.run.tls(of: 0), timeout: self.plan.timeout)
        let id = self.wallet.sends(.opening, at: self.now)
        do throws(FleetFailure) {
            let session = try await FleetSession.begin(
                self.wallet.wallet,
                of: self.run.fleet,
                on: connection,
                timeout: self.plan.timeout
            )
            let violation = self.wallet.opens(
                session.opening.pinState,
                generation: session.generation,
                as: id,
                attempts: self.run.policy.attemptsPerRound,
                at: self.now
            )
            if let violation { self.run.violated(violation, self.wallet.wallet, at: self.clock.now) }
            return session
        } catch {
            self.judge(error, id, of: nil, isWrong: false)
            throw error
        }
    }

    /// Opens the other sessions; all or none.
    private func openOthers(beside first: FleetSession) async throws(FleetFailure) -> [FleetSession] {
        let count = self.plan.connections - 1
        let results = await withTaskGroup(of: Result<FleetSession, FleetFailure>.self) { group in
            var results: [Result<FleetSession, FleetFailure>] = []
            var begun = 0
            func add() {
                guard begun < count else { return }
                begun += 1
                group.addTask { await Result { () async throws(FleetFailure) in try await self.open() } }
            }
            for _ in 0..<min(Self.lanes, count) { add() }
            for await result in group {
                results.append(result)
                if case .success = result { add() }
            }
            return results
        }
        let sessions = results.compactMap { try? $0.get() }
        for case .failure(let error) in results {
            for session in sessions { session.close() }
            throw error
        }
        return [first] + sessions
    }

    /// Sessions that are opened at a time.
    private static let lanes = 32

    /// Sends all guesses at once; the right one stands at a random place.
    func send(from first: FleetSession, using generator: inout PlanGenerator) async throws(FleetFailure) -> BurstResult
    {
        let sessions: [FleetSession]
        do throws(FleetFailure) {
            sessions = try await self.openOthers(beside: first)
        } catch {
            first.close()
            throw error
        }
        defer { for session in sessions { session.close() } }
        let flights = self.flights(over: sessions, using: &generator)
        let (gate, tally) = (Gate(), BurstTally())
        await withTaskGroup(of: Void.self) { group in
            for flight in flights {
                group.addTask(executorPreference: flight.session.connection.executor) {
                    await gate.pass()
                    await self.send(flight, tally)
                }
            }
            await gate.isReached(by: flights.count)
            tally.begin(at: self.clock.now)
            gate.open()
        }
        return tally.result
    }

    /// What one connection carries.
    private struct Flight: Sendable {
        let session: FleetSession
        let guesses: [(prepared: FleetSession.Prepared, isRight: Bool, id: Int)]
    }

    /// Signs everything; from here on the wallet's history knows that it may arrive.
    private func flights(over sessions: [FleetSession], using generator: inout PlanGenerator) -> [Flight] {
        let right = Int.random(in: 0..<self.plan.size, using: &generator)
        var prepared: [[(FleetSession.Prepared, Bool)]] = []
        for (place, session) in sessions.enumerated() {
            prepared.append(
                stride(from: place, to: self.plan.size, by: sessions.count).map { guess in
                    (session.prepareCheck(guess == right ? .right : .wrong(UInt32(guess))), guess == right)
                }
            )
        }
        return zip(sessions, prepared).map { session, guesses in
            Flight(
                session: session,
                guesses: guesses.map { prepared, isRight in
                    (prepared, isRight, self.wallet.sends(self.message(isRight: isRight, of: session), at: self.now))
                }
            )
        }
    }

    private func send(_ flight: Flight, _ tally: BurstTally) async {
        let began = self.clock.now
        tally.wrote(at: began)
        do throws(FleetFailure) {
            let results: [Result<InstructResult, FleetFailure>]
            if flight.guesses.count == 1 {
                let prepared = flight.guesses[0].prepared
                results = [
                    await Result { () async throws(FleetFailure) in try await flight.session.send(prepared) }
                ]
            } else {
                results = try await flight.session.sendTogether(flight.guesses.map(\.prepared))
            }
            for (guess, result) in zip(flight.guesses, results) {
                self.take(result, of: guess.id, isRight: guess.isRight, in: flight.session, began, tally)
            }
        } catch {
            for guess in flight.guesses {
                self.take(.failure(error), of: guess.id, isRight: guess.isRight, in: flight.session, began, tally)
            }
        }
    }

    private func take(
        _ result: Result<InstructResult, FleetFailure>,
        of id: Int,
        isRight: Bool,
        in session: FleetSession,
        _ began: Duration,
        _ tally: BurstTally
    ) {
        let ended = self.clock.now
        let outcome: Outcome
        switch result {
        case .success(let result):
            self.judge(result, id)
            outcome = result.outcome
        case .failure(let error):
            self.judge(error, id, of: session, isWrong: !isRight)
            outcome = .failed(error.reason)
        }
        // Called valid, whatever share came with it: the guess was judged.
        let isFalseShare = if case .failure(.falseShare) = result { true } else { false }
        tally.answered(isFalseShare ? .valid : outcome, isRight: isRight, at: ended)
        self.run.recorder.record(
            Sample(.check, outcome, latency: ended - tally.start, serviceTime: ended - began)
        )
    }

    private func message(isRight: Bool, of session: FleetSession) -> WalletOperation {
        .check(isRight: isRight, generation: Int(session.generation))
    }

    private func judge(_ result: InstructResult, _ id: Int) {
        guard let verdict = result.verdict else { return }
        let violation = self.wallet.answers(.verdict(verdict), to: id, at: self.now)
        if let violation { self.run.violated(violation, self.wallet.wallet, at: self.clock.now) }
    }

    private func judge(_ failure: FleetFailure, _ id: Int, of session: FleetSession?, isWrong: Bool) {
        self.run.judge(
            failure,
            of: self.wallet,
            id,
            isWrong: isWrong,
            generation: session?.generation,
            at: self.clock.now,
            clock: self.clock
        )
    }
}

extension Result where Failure == FleetFailure {
    fileprivate init(_ body: () async throws(FleetFailure) -> Success) async {
        do throws(FleetFailure) {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
