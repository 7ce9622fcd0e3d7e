internal import Metrics
internal import PostgreSQLClient
internal import Statements
internal import Synchronization
internal import Vocabulary
internal import WalletStore

/// Runs wallet steps in batches, each of which is a single committing statement.
///
/// Used only by the lane's thread.
///
///     read unknown wallets ─▶ decide ─▶ compare and set every row, committed ─▶ sign the receipts ─▶ every answer
///
/// A row is written only if it has not changed since its step was decided; otherwise, the step is decided again. If two
/// servers judge the same wallet at the same time, both attempts are therefore counted. Nothing waits for another
/// server's transaction: a locked row is skipped and tried again.
///
/// Invariant (G4): an answer leaves this thread only after the commit that holds its count, and only if the database
/// confirmed that commit without a warning and under safe settings. If that is unknown, the steps are refused as
/// ``StoreError/outcomeUnknown``, which closes the clients' connections without an answer. The client returns with
/// the same attempt id, and the record itself decides.
final class JudgingWorker {
    /// The maximum number of cached wallets.
    ///
    /// A full cache is emptied.
    private static let mostKnown = 4096

    /// The maximum number of wallets in ``delayed``.
    private static let mostDelayed = 16

    private let parts: StoreParts
    private let policy: String
    private let meters: DatabaseMeters
    private let latency: CommitLatency
    private let newestRoot: NewestRoot
    private let confirmed: ConfirmedCommits
    private let reconnection: Reconnection
    /// The wallets as this server last read or wrote them.
    ///
    /// Emptied for each new connection.
    private var known: [WalletID: StoredValues] = [:]
    /// Whether a batch has failed since the last one that wrote a row.
    private var hasFailed = false
    /// The wallets whose rows were locked until their steps timed out, since the last batch that wrote a row.
    private var delayed: Set<WalletID> = []

    init(_ parts: StoreParts, _ confirmed: ConfirmedCommits, latency: CommitLatency, newestRoot: NewestRoot) {
        self.parts = parts
        self.policy = StorePolicy(parts.policy).text
        self.meters = parts.meters
        self.latency = latency
        self.newestRoot = newestRoot
        self.confirmed = confirmed
        self.reconnection = Reconnection(parts, self.confirmed)
    }

    /// Runs steps and answers them, and returns those to be retried together with newer ones.
    ///
    /// A wallet whose row is locked therefore does not delay any other wallet.
    func run(_ steps: [JudgingStep]) -> [JudgingStep] {
        if let first = steps.first { self.meters.batches.wait.record(self.parts.machine.now() - first.began) }
        var again: [JudgingStep] = []
        var waiting = steps
        while !waiting.isEmpty {
            let (batch, later) = Self.oneOfEachWallet(waiting)
            waiting = later
            guard let session = self.session() else {
                self.refuse(batch + later, .unavailable)
                break
            }
            do {
                again += try self.run(batch, on: session)
            } catch {
                self.hasFailed = true
                self.parts.refuse(error)
                // Rejected by the database: another database may be the primary by now.
                self.reconnection.drop()
                self.known = [:]
                if case PostgreSQLFailure.outcomeUnknown = error {
                    self.refuse(batch, .outcomeUnknown)
                } else {
                    self.refuse(batch, .unavailable)
                }
            }
        }
        return again
    }

    private func session() -> StoreSession? {
        let before = self.reconnection.session
        let session = self.reconnection.current()
        if session !== before { self.known = [:] }
        return session
    }

    private func refuse(_ steps: [JudgingStep], _ reason: StoreError) {
        self.meters.batches.failedBatches.increment()
        for step in steps { step.refuse(reason) }
    }

    /// Splits off the first step of each wallet, because one statement cannot contain two decisions about the same row.
    private static func oneOfEachWallet(_ steps: [JudgingStep]) -> (batch: [JudgingStep], later: [JudgingStep]) {
        var seen: Set<WalletID> = []
        var (batch, later): ([JudgingStep], [JudgingStep]) = ([], [])
        for step in steps {
            if step.wallet.map({ seen.insert($0).inserted }) ?? true { batch.append(step) } else { later.append(step) }
        }
        return (batch, later)
    }

    /// Runs one batch and answers its steps, and returns those to be retried; throws only before any answer is sent.
    private func run(_ batch: [JudgingStep], on session: StoreSession) throws -> [JudgingStep] {
        var answers: [@Sendable () -> Void] = []
        var proposals: [JudgingDecision.Proposal] = []
        var damaged: Set<WalletID> = []
        if self.known.count + batch.count > Self.mostKnown { self.known = [:] }
        if batch.contains(where: { $0.wallet == nil }) {
            try session.recordSchemaChecks()
            try session.take(session.run(.sql(Self.probe, [])))
            try self.requireFreeRows(on: session)
        }
        let unknown = batch.filter { self.mustRead($0) }.compactMap(\.wallet)
        if !unknown.isEmpty {
            let found = try session.wallets(unknown)
            for wallet in unknown {
                self.known[wallet] = found[wallet] ?? nil
                if case .some(.none) = found[wallet] { damaged.insert(wallet) }
            }
        }
        for step in batch {
            do {
                guard step.wallet.map({ !damaged.contains($0) }) ?? true else { throw StoreError.corrupt }
                let decision = try step.decide(
                    from: step.wallet.flatMap { self.known[$0] },
                    session.facts,
                    key: self.parts.key,
                    at: self.parts.machine.now()
                )
                switch decision {
                case .answer(let answer): answers.append(answer)
                case .write(let proposal): proposals.append(proposal)
                }
            } catch {
                answers.append { step.refuse(error as? StoreError ?? .corrupt) }
            }
        }
        let missed = proposals.isEmpty ? [] : try self.commit(proposals, on: session, &answers)
        for answer in answers { answer() }
        return self.dueAgain(missed)
    }

    /// Returns whether a step needs the wallet's current values.
    ///
    /// A write based on cached values fails if another server has changed the wallet. Only answers without a write need
    /// current values: an identity, or the fact that the identity has changed.
    private func mustRead(_ step: JudgingStep) -> Bool {
        guard let wallet = step.wallet else { return false }
        guard let known = self.known[wallet] else { return true }
        switch step.kind {
        case .identity: return true
        case .session(let session, _): return session.identity != known.wallet.row.identity
        case .judge, .probe: return false
        }
    }

    /// Takes the table locks of ``JudgingStatement`` and returns the settings and facts, but changes no row.
    ///
    /// A lock that another session holds on a table delays it as it delays an attempt.
    static let probe = """
        with written as (update wallets set record = record where false),
            counted as (update commit_numbers set number = number where false)
        select \(StoreSession.factColumns) from facts
        """

    /// Throws if the locks on rows that delayed earlier steps still keep every attempt from being judged.
    ///
    /// A lock on the row of a single wallet delays no other wallet.
    private func requireFreeRows(on session: StoreSession) throws(PostgreSQLFailure) {
        guard self.hasFailed || self.delayed.count > 1 else { return }
        let values: [PostgreSQLValue] = [
            .text(self.parts.server), .text(CommitLane.judging.rawValue), .byteArrays(self.delayed.map(\.bytes)),
        ]
        let rows = try session.run(.sql(Self.freeRows, values))
        guard self.delayed.count < 2 || rows.number(0, 1) ?? 0 > 0 else {
            throw .rejected(state: "55P03", message: "the rows of \(self.delayed.count) wallets are locked")
        }
        (self.hasFailed, self.delayed) = (false, [])
    }

    /// Locks this lane's commit number or fails, and returns how many wallets are not locked.
    private static let freeRows = """
        select
            (select count(*) from (
                select from commit_numbers where server = $1 and lane = $2 for update nowait) as numbers),
            (select count(*) from (
                select from wallets where id = any($3::bytea[]) for no key update skip locked) as free)
        """

    /// Writes proposals, adds the answers of those that are committed, and returns the steps of the others.
    private func commit(
        _ proposals: [JudgingDecision.Proposal],
        on session: StoreSession,
        _ answers: inout [@Sendable () -> Void]
    ) throws -> [JudgingStep] {
        try session.recordSchemaChecks()
        let start = self.parts.machine.now()
        let rows = try session.commit(
            .judge(
                JudgingStatement(
                    wallets: proposals.map(\.wallet.bytes),
                    old: proposals.map(\.old),
                    new: proposals.map(\.new),
                    epoch: session.epoch,
                    isSolutionRevoked: session.facts.isSolutionRevoked,
                    policy: self.policy,
                    vaultKey: session.vaultKey,
                    server: self.parts.server
                )
            )
        )
        do {
            try session.check(rows)
        } catch {
            // The commit has already happened, and may be lost.
            throw PostgreSQLFailure.outcomeUnknown("\(error)")
        }
        try session.checkAfterCommit()
        // If the epoch has changed, the statement wrote nothing but the number.
        if let number = rows.number(0, 9), rows.number(0, 1) == session.epoch {
            try self.confirmed.note(number, of: .judging, epoch: session.epoch)
        }
        let duration = self.parts.machine.now() - start
        self.latency.note(duration)
        self.meters.batches.commit.record(duration)
        self.meters.batches.batch.record(proposals.count)
        let sent = Dictionary(uniqueKeysWithValues: proposals.map { ($0.wallet, $0.new) })
        let written = try Self.written(rows.bytes(0, 8) ?? [], of: sent)
        let done = proposals.filter { written.contains($0.wallet) }
        answers += self.certified(done, by: session.facts)
        for proposal in done { self.known[proposal.wallet] = proposal.values }
        if !done.isEmpty { (self.hasFailed, self.delayed) = (false, []) }
        let missed = proposals.filter { !written.contains($0.wallet) }
        self.meters.comparisonMisses.increment(by: missed.count)
        for proposal in missed { self.known[proposal.wallet] = nil }
        if !missed.isEmpty {
            do {
                try session.take(rows)
            } catch {
                // The commits stand; only the other steps need the facts.
                self.parts.refuse(error)
                self.reconnection.drop()
            }
        }
        return missed.map(\.step)
    }

    /// Returns the wallets whose rows were written.
    ///
    /// Invariant (G4): the database returns each row that it stored, which is the one that was sent.
    static func written(_ returned: [UInt8], of sent: [WalletID: [UInt8]]) throws(PostgreSQLFailure) -> Set<WalletID> {
        var written: Set<WalletID> = []
        var rest = returned[...]
        while !rest.isEmpty {
            guard let wallet = WalletID([UInt8](rest.prefix(WalletIDKind.byteCount))), let row = sent[wallet],
                rest.dropFirst(WalletIDKind.byteCount).starts(with: row)
            else { throw .outcomeUnknown("the database stored a row that this server did not send") }
            written.insert(wallet)
            rest = rest.dropFirst(WalletIDKind.byteCount + row.count)
        }
        return written
    }

    /// Signs the receipts of committed verdicts.
    ///
    /// Without a signature, no verdict is sent.
    private func certified(
        _ proposals: [JudgingDecision.Proposal],
        by facts: StoreFacts
    ) -> [@Sendable () -> Void] {
        guard let signer = self.parts.receipts else {
            return proposals.map { proposal -> @Sendable () -> Void in { proposal.answer(nil) } }
        }
        let receipts = ReceiptBatch()
        let places = proposals.map { $0.leaf.map { receipts.add($0.0, at: $0.at) } }
        receipts.certify(by: signer, facts.receiptVersion, epoch: UInt64(facts.epoch))
        if let signed = receipts.signed { self.newestRoot.note(signed) }
        return zip(proposals, places).map { proposal, place -> @Sendable () -> Void in
            guard let place else { return { proposal.answer(nil) } }
            guard let receipt = receipts.receipt(at: place) else { return { proposal.step.refuse(.notCertified) } }
            return { proposal.answer(receipt) }
        }
    }

    /// Refuses steps that have timed out.
    ///
    /// Their rows were locked or changed on every try, and nothing was counted.
    private func dueAgain(_ steps: [JudgingStep]) -> [JudgingStep] {
        let latest = self.parts.machine.now() - self.parts.timeLimit
        for step in steps where step.began <= latest {
            if let wallet = step.wallet, self.delayed.count < Self.mostDelayed { self.delayed.insert(wallet) }
            step.refuse(.unavailable)
        }
        return steps.filter { $0.began > latest }
    }
}

/// The newest signed root of receipts.
final class NewestRoot: Sendable {
    private let root = Mutex<SignedRoot?>(nil)

    var value: SignedRoot? { self.root.withLock { $0 } }

    func note(_ signed: SignedRoot) { self.root.withLock { $0 = signed } }
}
