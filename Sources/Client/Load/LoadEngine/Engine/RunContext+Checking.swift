internal import HistoryChecker
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

extension RunContext {
    /// Opens a session on a new connection and checks the response against the wallet's history.
    ///
    /// A rejected iOS proof is retried once on a new connection, as the protocol requires of wallets.
    func openSession(
        of wallet: CheckedWallet,
        _ number: Int,
        resuming: Bool = false
    ) async throws(FleetFailure) -> FleetSession {
        do throws(FleetFailure) {
            return try await self.tryToOpenSession(of: wallet, number, resuming: resuming)
        } catch .refused(.authenticationFailed) where wallet.wallet.platform == .iOS {
            return try await self.tryToOpenSession(of: wallet, number, resuming: resuming)
        }
    }

    private func tryToOpenSession(
        of wallet: CheckedWallet,
        _ number: Int,
        resuming: Bool
    ) async throws(FleetFailure) -> FleetSession {
        let connection = try await self.connect(number, resuming: resuming)
        let id = wallet.invokes(.opening, at: self.serverTime)
        do throws(FleetFailure) {
            let session = try await FleetSession.begin(
                wallet.wallet,
                of: self.fleet,
                on: connection,
                timeout: self.plan.timeout
            )
            let response = WalletResponse.opened(session.opening.pinState, generation: Int(session.generation))
            let now = self.clock.now
            self.report(wallet.completes(id, response, at: self.clock.wall(at: now)), of: wallet, at: now)
            return session
        } catch {
            self.check(error, of: wallet, id, isWrong: false, generation: nil, at: self.clock.now)
            throw error
        }
    }

    /// Checks the result of an instruction against the wallet's history.
    ///
    /// - Parameter isWrong: Whether the instruction carried a wrong PIN.
    func check(
        _ result: Result<FleetSession.Answer, FleetFailure>,
        of wallet: CheckedWallet,
        _ id: Int,
        isWrong: Bool,
        in session: FleetSession,
        at time: Duration
    ) -> Outcome {
        switch result {
        case .success(let answer):
            let now = self.clock.wall(at: time)
            if let verdict = answer.result.verdict {
                if case .wrong = verdict { self.events.verdictTrigger.fire() }
                self.report(wallet.completes(id, .verdict(verdict, answer.place), at: now), of: wallet, at: time)
            } else {
                self.report(.answerToAnotherQuestion, of: wallet, at: time)
                self.report(wallet.loses(id, isWrong: isWrong, at: now), of: wallet, at: time)
            }
            return answer.result.outcome
        case .failure(let failure):
            self.check(failure, of: wallet, id, isWrong: isWrong, generation: session.generation, at: time)
            return self.outcome(of: failure)
        }
    }

    /// Checks a failure against the wallet's history.
    ///
    /// - Parameter generation: The generation of the session's PIN after the failure, or nil if there is no session.
    private func check(
        _ failure: FleetFailure,
        of wallet: CheckedWallet,
        _ id: Int,
        isWrong: Bool,
        generation: UInt32?,
        at time: Duration
    ) {
        let response: WalletResponse?
        switch failure {
        case .falseShare: response = .validWithForeignShare
        case .strangePINKey: response = .pinKeyChanged(current: nil)
        case .refused(.pinKeyChanged): response = .pinKeyChanged(current: generation.map { Int($0) })
        // These refusals do not tell us whether the attempt was counted.
        case .refused(.unavailable), .refused(.internal): response = nil
        case .revoked, .refused(.revoked): response = .revoked
        case .refused: response = .refused
        case .connect, .call, .fleet: response = nil
        case .unexpectedAnswer:
            self.report(.answerToAnotherQuestion, of: wallet, at: time)
            response = nil
        }
        let now = self.clock.wall(at: time)
        guard let response else {
            return self.report(wallet.loses(id, isWrong: isWrong, at: now), of: wallet, at: time)
        }
        self.report(wallet.completes(id, response, at: now), of: wallet, at: time)
    }

    /// Returns the outcome of a failed operation.
    ///
    /// Ends the run if the wallet file failed.
    func outcome(of failure: FleetFailure) -> Outcome {
        switch failure {
        case .fleet(let error): self.events.end(.aborted, failure: .fleet(error))
        case .call(.closed): self.events.connectionWasLost()
        case .refused(.rateLimited): self.gauges.rateLimited.add(1, ordering: .relaxed)
        // A call is cancelled only by the end of a run.
        case .call(.cancelled): return .interrupted
        default: break
        }
        return .failed(failure.reason)
    }

    /// Records a response that a correct server would not have sent.
    private func report(_ violation: HistoryViolation?, of wallet: CheckedWallet, at time: Duration) {
        guard let violation else { return }
        if case .impossibleOpening = violation {
            self.events.note(
                """
                a server whose store was restored from a backup since the last run has other counts, which is not a \
                fault: run once with --forget-histories to begin new histories
                """
            )
        }
        let text = """
            \(violation.name): wallet \(wallet.wallet.index) (\(wallet.wallet.walletID)), \
            \(time.milliseconds) ms after the start: \(violation)
            """
        self.recorder.recordViolation(text)
        self.proof?.note(violation, text, wallet.transcript)
    }

    /// Notes that a wallet is no longer used.
    func excludes(_ wallet: FleetWallet, for failure: FleetFailure) {
        let count = self.gauges.excluded.add(1, ordering: .relaxed).newValue
        guard count <= Self.maxNamed else {
            return self.events.note("more than \(Self.maxNamed) wallets were excluded; the first ones are named")
        }
        var text = "wallet \(wallet.index) (\(wallet.walletID)) was excluded: \(failure)"
        if failure == .refused(.authenticationFailed) {
            text += "; the server removes a wallet without a session after enrollment.unopened-lifetime"
        }
        self.events.note(text)
    }

    /// The maximum number of excluded wallets to name in the report.
    private static let maxNamed = 5
}

extension InstructResult {
    /// The verdict on the PIN, or nil for a result that does not belong to a PIN check.
    fileprivate var verdict: PINVerdict? {
        switch self {
        case .pinValid, .pinChanged: .valid
        case .wrong(let state): .wrong(state)
        case .blocked(let remaining): .blocked(remaining: remaining)
        case .blockedPermanently: .blockedPermanently
        case .recoveryCodeLinked, .deletionCode: nil
        }
    }

    /// The outcome as shown in reports.
    fileprivate var outcome: Outcome {
        switch self {
        case .pinValid: .valid
        case .pinChanged: .changed
        case .wrong: .wrong
        case .blocked: .blocked
        case .blockedPermanently: .blockedPermanently
        case .recoveryCodeLinked, .deletionCode: .failed("unexpected-answer")
        }
    }
}
