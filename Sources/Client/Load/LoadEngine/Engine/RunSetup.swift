internal import LoadFleet
internal import LoadPlan
internal import Synchronization
internal import Vocabulary
internal import Wire

/// What is done before the clock of a run starts: the server's terms are read, and sessions are opened.
struct RunSetup {
    /// Openings at a time: enough to keep a server busy, too few to be refused by it.
    private static let lanes = 32
    /// How long a server that refuses for a passing reason is asked again.
    private static let patience: Duration = .seconds(30)

    let run: RunContext
    let clock: RunClock

    /// Asks the server for its terms with the first wallet, and finds out whether it is the wallets' server at all.
    static func terms(
        of fleet: Fleet,
        at target: Target,
        _ plan: LoadPlan
    ) async throws(RunError) -> ServerTerms {
        var failure = FleetFailure.unexpectedAnswer
        // A wallet may have been revoked; not all of the first few.
        for index in 0..<min(8, fleet.count) {
            do throws(FleetFailure) {
                return try await self.probe(index, of: fleet, at: target, plan)
            } catch {
                failure = error
                if case .revoked = error { continue }
                break
            }
        }
        throw .server(failure, address: target.address)
    }

    private static func probe(
        _ index: Int,
        of fleet: Fleet,
        at target: Target,
        _ plan: LoadPlan
    ) async throws(FleetFailure) -> ServerTerms {
        do {
            let session = try await FleetSession.open(
                try fleet[index],
                of: fleet,
                at: target,
                tls: try target.tls(resuming: false),
                timeout: plan.timeout
            )
            session.close()
            return session.terms
        } catch let error as FleetFailure {
            throw error
        } catch let error as FleetError {
            throw .fleet(error)
        } catch {
            throw .unexpectedAnswer
        }
    }

    /// Opens so many sessions, a few at a time.
    ///
    /// - Parameters:
    ///   - first: the number of the first user.
    ///   - hear: how many are open.
    func open(_ count: Int, first: Int, hear: @escaping @Sendable (Int) -> Void) async throws(RunError)
        -> [OpenedSession]
    {
        let results = await withTaskGroup(of: Result<OpenedSession, RunError>.self) { group in
            var results: [Result<OpenedSession, RunError>] = []
            var next = 0
            func add() {
                guard next < count, self.run.events.endReason == nil else { return }
                let number = first + next
                next += 1
                group.addTask { await self.openOne(number) }
            }
            for _ in 0..<Self.lanes { add() }
            for await result in group {
                results.append(result)
                hear(results.count)
                if case .failure = result { group.cancelAll() } else { add() }
            }
            return results
        }
        var sessions: [OpenedSession] = []
        var failure: RunError?
        for result in results {
            switch result {
            case .success(let session): sessions.append(session)
            case .failure(let error): failure = failure ?? error
            }
        }
        if failure == nil, sessions.count < count { failure = .interrupted }
        guard let failure else { return sessions }
        for session in sessions { try? session.close(in: self.run, clock: self.clock) }
        throw failure
    }

    /// Wallets that may be of no use before the run is given up.
    private static let mostPassedOver = 64

    private func openOne(_ number: Int) async -> Result<OpenedSession, RunError> {
        var generator = PlanGenerator(seed: self.run.plan.seed, stream: UInt64(number) &+ 0x5E55_1041)
        var backoff = Backoff()
        let end = self.clock.now + Self.patience
        while true {
            do throws(FleetFailure) {
                guard
                    let session = try await OpenedSession.open(
                        number,
                        in: self.run,
                        clock: self.clock,
                        using: &generator
                    )
                else { return .failure(.plan(PlanError([Self.tooFewWallets(self.run.fleet.count)]))) }
                return .success(session)
            } catch {
                // Another wallet is drawn then; where it is the same with many, it is not the wallets'.
                let isOne =
                    error.isTheWalletsOwn && self.run.gauges.passedOver.load(ordering: .relaxed) < Self.mostPassedOver
                if isOne, self.run.events.endReason == nil, !Task.isCancelled, !self.run.sharesWallets { continue }
                guard error.isTransient, self.clock.now < end, self.run.events.endReason == nil, !Task.isCancelled
                else {
                    let isOver = self.run.events.endReason != nil
                    return .failure(isOver ? .interrupted : .server(error, address: self.run.target.address))
                }
                await self.clock.sleep(until: self.clock.now + backoff.grow(using: &generator))
            }
        }
    }

    static func tooFewWallets(_ count: Int) -> PlanProblem {
        PlanProblem(
            place: "--wallets",
            "\(count) wallets are fewer than connections, and each connection needs one of its own; register more with "
                + "`pin-load provision`, or use fewer connections"
        )
    }
}
