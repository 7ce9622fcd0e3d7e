internal import LoadFleet
internal import LoadReport
internal import Synchronization
internal import HistoryChecker
internal import Vocabulary
internal import Wire

extension RunContext {
    /// Notes an answer that no correct server gives.
    func violated(_ violation: HistoryViolation, _ wallet: FleetWallet, at time: Duration) {
        if case .impossibleOpening = violation {
            self.events.note(
                """
                a server whose store was restored from a backup since the last run counts other things, which is no fault: \
                --forget-histories, once, has this tool begin anew
                """
            )
        }
        let milliseconds = time.milliseconds
        self.recorder.recordViolation(
            "\(violation.name): wallet \(wallet.index) (\(wallet.walletID)), \(milliseconds) ms after the start: \(violation)"
        )
    }

    /// Notes that a wallet is not used any more.
    func passesOver(_ wallet: FleetWallet, for failure: FleetFailure) {
        let count = self.gauges.passedOver.add(1, ordering: .relaxed).newValue
        guard count <= Self.mostNamed else {
            return self.events.note("more than \(Self.mostNamed) wallets were of no use; the first ones are named")
        }
        var text = "wallet \(wallet.index) (\(wallet.walletID)) is of no use and was passed over: \(failure)"
        if failure == .refused(.authenticationFailed) {
            text += "; one of which no session was opened is removed after enrollment.unopened-lifetime"
        }
        self.events.note(text)
    }

    private static let mostNamed = 5

    /// Holds what a call failed with against the wallet's history.
    ///
    /// - Parameter generation: of the session's PIN after the failure; nil before there is a session.
    func judge(
        _ failure: FleetFailure,
        of wallet: CheckedWallet,
        _ id: Int,
        isWrong: Bool,
        generation: UInt32?,
        at time: Duration,
        clock: RunClock
    ) {
        let now = clock.wall(at: time)
        let answer: WalletResponse?
        switch failure {
        case .falseShare: answer = .validWithForeignShare
        case .strangePINKey: answer = .pinKeyChanged(current: nil)
        case .refused(.pinKeyChanged): answer = .pinKeyChanged(current: generation.map { Int($0) })
        // It is not said whether the attempt was counted.
        case .refused(.unavailable), .refused(.internal): answer = nil
        case .refused, .revoked: answer = .refused
        case .connect, .call, .fleet: answer = nil
        case .unexpectedAnswer:
            self.violated(.answerToAnotherQuestion, wallet.wallet, at: time)
            answer = nil
        }
        guard let answer else { return wallet.loses(id, isWrong: isWrong, at: now) }
        if let violation = wallet.answers(answer, to: id, at: now) { self.violated(violation, wallet.wallet, at: time) }
    }
}

extension InstructResult {
    /// What became of the PIN; nil for a result that only other instructions have.
    var verdict: PINVerdict? {
        switch self {
        case .pinValid, .pinChanged: .valid
        case .wrong(let state): .wrong(state)
        case .blocked(let remaining): .blocked(remaining: remaining)
        case .blockedPermanently: .blockedPermanently
        case .recoveryCodeLinked, .deletionCode: nil
        }
    }

    /// As reports name it.
    var outcome: Outcome {
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
