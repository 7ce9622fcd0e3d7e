internal import PINPolicy
internal import Vocabulary
internal import WalletStore

/// A step for one wallet, which runs in a batch with other wallets' steps.
struct JudgingStep: Sendable {
    enum Kind: Sendable {
        /// An instruction that only reads.
        case judge(Attempt, @Sendable (Result<CertifiedOutcome, StoreError>) -> Void)
        case session(NewSession, @Sendable (Result<SessionOutcome, StoreError>) -> Void)
        case identity(WalletID, @Sendable (Result<StoredIdentity?, StoreError>) -> Void)
        /// Checks whether attempts can be judged; writes nothing.
        case probe(@Sendable (Result<Void, StoreError>) -> Void)
    }

    let kind: Kind
    /// The time at which it was put into the queue.
    let began: ContinuousClock.Instant

    /// The wallet, or nil for a probe.
    var wallet: WalletID? {
        switch self.kind {
        case .judge(let attempt, _): attempt.walletID
        case .session(let session, _): session.walletID
        case .identity(let wallet, _): wallet
        case .probe: nil
        }
    }

    /// Returns the time of a step that was `time` when it was put into a queue.
    ///
    /// Invariant (G3): a step that waited is judged at the time of its decision. Other servers may have blocked the
    /// wallet meanwhile. With its old time, the step would take the block for one from before the clock was set back,
    /// and shorten it. A few seconds matter little: the shortest block takes a minute.
    static func time(
        _ time: Timestamp,
        queuedAt began: ContinuousClock.Instant,
        decidedAt now: ContinuousClock.Instant
    ) -> Timestamp {
        let waited = now - began
        return waited > .seconds(5) ? time + waited : time
    }

    func refuse(_ reason: StoreError) {
        switch self.kind {
        case .judge(_, let answer): answer(.failure(reason))
        case .session(_, let answer): answer(.failure(reason))
        case .identity(_, let answer): answer(.failure(reason))
        case .probe(let answer): answer(.failure(reason))
        }
    }
}

/// The decision about a step, based on the lane's knowledge of its wallet.
enum JudgingDecision {
    /// An answer that depends on no write and reveals nothing about a PIN.
    case answer(@Sendable () -> Void)
    /// An answer that is sent once these values have replaced the ones that the decision was based on.
    case write(Proposal)

    struct Proposal {
        let step: JudgingStep
        let wallet: WalletID
        let old: [UInt8]
        let new: [UInt8]
        let values: StoredValues
        /// The facts about the verdict, including its time, or nil if there is no verdict.
        let leaf: (AttemptLeaf, at: Timestamp)?
        let answer: @Sendable (Receipt?) -> Void
    }
}

extension JudgingStep {
    /// Decides the step from a wallet's values, which are nil if the wallet is unknown.
    ///
    /// Invariant (G3): every answer about a PIN or a revocation leaves a write, even if it changes nothing but the
    /// number of writes. Otherwise, a row could be read that a failover later undoes, along with its verdict.
    func decide(
        from known: StoredValues?,
        _ facts: StoreFacts,
        key: RecordKey,
        at now: ContinuousClock.Instant
    ) throws -> JudgingDecision {
        switch self.kind {
        case .probe(let answer):
            return .answer { answer(.success(())) }
        case .identity(_, let answer):
            let identity = known.map { StoredIdentity($0.wallet, facts) }
            return .answer { answer(.success(identity)) }
        case .judge(var attempt, let answer):
            guard var values = known else { throw StoreError.corrupt }
            attempt.now = Self.time(attempt.now, queuedAt: self.began, decidedAt: now)
            let judged = try values.wallet.judge(attempt, facts)
            return self.write(values, key, leaf: judged.leaf.map { [now = attempt.now] in ($0, at: now) }) { receipt in
                answer(.success(CertifiedOutcome(judged.outcome, receipt)))
            }
        case .session(var session, let answer):
            guard var values = known else {
                return .answer { answer(.success(BegunSession.ofUnknownWallet.outcome)) }
            }
            session.now = Self.time(session.now, queuedAt: self.began, decidedAt: now)
            let begun = try values.wallet.begin(session, facts)
            guard begun.isAdmitted else { return .answer { answer(.success(begun.outcome)) } }
            return self.write(values, key, leaf: nil) { _ in answer(.success(begun.outcome)) }
        }
    }

    private func write(
        _ values: StoredValues,
        _ key: RecordKey,
        leaf: (AttemptLeaf, at: Timestamp)?,
        _ answer: @escaping @Sendable (Receipt?) -> Void
    ) -> JudgingDecision {
        let new = values.narrow(by: key)
        return .write(
            .init(
                step: self,
                wallet: values.id,
                old: values.onFile,
                new: new,
                values: values.written(new),
                leaf: leaf,
                answer: answer
            )
        )
    }
}
