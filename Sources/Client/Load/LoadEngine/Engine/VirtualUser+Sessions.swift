internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Synchronization
internal import Transport
internal import Vocabulary

extension VirtualUser {
    /// Opens a session for a free wallet.
    ///
    /// Waits for one if necessary. A failure is recorded as the outcome of the action.
    func open(_ action: Action, due: Duration?, began: Duration) async {
        do throws(FleetFailure) {
            while true {
                self.opened = try await OpenedSession.open(
                    self.number,
                    wallet: self.lost?.wallet.wallet.index,
                    resuming: self.use == .resumed,
                    in: self.run,
                    using: &self.generator
                )
                if self.opened != nil { break }
                self.run.events.note("more connections than free wallets: some connections had to wait for a wallet")
                await self.recover()
                // Count the check as unsent if it was due.
                guard !self.run.gauges.isStopping else {
                    if due != nil { self.run.recorder.recordUnsent(1) }
                    return
                }
            }
            self.checksDone = 0
            if self.opened?.session.isResumed == true { self.run.gauges.resumed.add(1, ordering: .relaxed) }
        } catch {
            if !error.isTransient { self.lost = nil }
            let operation: Operation = action == .changePIN ? .changePIN : .unlock
            self.record(
                operation,
                self.run.outcome(of: error),
                of: action,
                due: due,
                from: began,
                to: self.clock.now
            )
            await self.recover()
        }
    }

    func leave() {
        guard let opened = self.opened else { return }
        self.opened = nil
        do throws(FleetFailure) { try opened.close(in: self.run) } catch { _ = self.run.outcome(of: error) }
    }

    func register(due: Duration?) async {
        guard let registrar = self.run.registrar else { return }
        let began = self.clock.now
        let outcome: Outcome
        do throws(FleetFailure) {
            try await self.registerNew(by: registrar)
            outcome = .registered
        } catch {
            outcome = self.run.outcome(of: error)
        }
        self.record(.register, outcome, of: .register, due: due, from: began, to: self.clock.now)
        if outcome.isFailure { await self.recover() } else { self.backoff.reset() }
    }

    /// Registers a wallet and discards it, because only the server's work matters.
    private func registerNew(by registrar: Registrar) async throws(FleetFailure) {
        let timeout = self.run.plan.timeout
        let connection = try await self.run.connect(self.number)
        defer { connection.close() }
        try await Registrar.greet(connection, timeout: timeout)
        let platform: Platform = self.generator.next(below: 10) < 3 ? .iOS : .android
        _ = try await registrar.register(platform, on: connection, timeout: timeout)
    }
}
