internal import PINPolicy
internal import PostgreSQLClient
internal import Synchronization
package import Vocabulary
package import WalletStore

/// A wallet store in a PostgreSQL database, which several servers can share.
///
/// It uses two threads with one connection each. One judges attempts and begins sessions in batches
/// (``JudgingWorker``). The other runs every other step in a separate transaction (``TransactionWorker``), so that a
/// long transaction does not delay a PIN check. The rules are those in `WalletStore`'s folder Rules, as for SQLite.
package final class PostgreSQLWalletStore: ServedStore {
    /// The maximum number of steps that share one commit.
    private static let largestBatch = 256
    package let limits = StepLimits(removedAtOnce: 200, searchedAtOnce: PostgreSQLWalletStore.searchedAtOnce)
    static let searchedAtOnce = 10_000
    package let sweepCursor = SweepCursor()

    package let expectedSteps = ExpectedSteps()
    package let commitLatency = CommitLatency()
    let parts: StoreParts
    let announced = AnnouncedEntry()
    let confirmed: ConfirmedCommits
    let judging: Lane<JudgingStep>
    let transactions: Lane<TransactionStep>
    let keeper = Mutex<LeaseKeeper?>(nil)
    private let root = NewestRoot()

    /// Opens the store in a database.
    ///
    /// Rejects a database without a store for this key, or with settings that lose commits.
    package static func open(_ parts: StoreParts) async throws(PostgreSQLStoreOpenError) -> PostgreSQLWalletStore {
        let confirmed = try ConfirmedCommits(parts)
        try await self.onThread(of: parts.machine) { _ = try StoreSession(parts, confirmed) }
        return PostgreSQLWalletStore(parts, confirmed)
    }

    /// Creates the tables in an empty database.
    package static func create(_ parts: StoreParts) async throws(PostgreSQLStoreOpenError) {
        try await self.onThread(of: parts.machine) {
            let connection = try parts.machine.connect(parts.target, parts.timeLimit)
            _ = try connection.run(.session(.setSearchPath), within: parts.timeLimit)
            try parts.schema.create(on: connection, parts)
        }
    }

    /// The settings of this server that differ from the policy of all servers.
    package func policyDifferences() async throws(StoreError) -> [PolicyDifference] {
        try await self.perform(.reading) { $0.policy.differences(from: $0.session.policy) }
    }

    /// Replaces the policy shared by all servers with this server's.
    ///
    /// Servers with other settings stop judging at once.
    package func setPolicy() async throws(StoreError) {
        try await self.perform(.changingFacts) { try $0.setPolicy() }
    }

    private init(_ opened: StoreParts, _ confirmed: ConfirmedCommits) {
        let parts = opened.metered()
        self.parts = parts
        self.confirmed = confirmed
        let (latency, root, announced) = (self.commitLatency, self.root, self.announced)
        self.judging = Lane("wallet store", on: parts.machine, largestBatch: Self.largestBatch) { lane in
            let worker = JudgingWorker(parts, confirmed, latency: latency, newestRoot: root)
            var again: [JudgingStep] = []
            while let steps = lane.next(waits: again.isEmpty) { again = worker.run(again + steps) }
        }
        self.transactions = Lane("wallet store 2", on: parts.machine, largestBatch: 1) { lane in
            let worker = TransactionWorker(parts, confirmed, announced: announced)
            while let batch = lane.next() { for step in batch { worker.run(step) } }
        }
    }

    deinit {
        self.judging.close()
        self.transactions.close()
    }

    /// Rejects further steps, finishes the waiting ones and closes the connections.
    package func close() async {
        self.judging.close()
        self.transactions.close()
        await self.judging.end.reached()
        await self.transactions.end.reached()
        await self.keeper.withLock(\.self)?.close()
    }

    package var newestRoot: SignedRoot? { self.root.value }

    /// Runs blocking work on a new thread.
    static func onThread<Answer: Sendable>(
        of machine: StoreMachine,
        _ work: @escaping @Sendable () throws -> Answer
    ) async throws(PostgreSQLStoreOpenError) -> Answer {
        let result: Result<Answer, PostgreSQLStoreOpenError> = await withCheckedContinuation { waiter in
            machine.startThread("database") {
                do {
                    waiter.resume(returning: .success(try work()))
                } catch let error as PostgreSQLStoreOpenError {
                    waiter.resume(returning: .failure(error))
                } catch {
                    waiter.resume(returning: .failure(.unreachable("\(error)")))
                }
            }
        }
        return try result.get()
    }

    /// Runs a step in a transaction, and returns its result after the commit.
    func perform<Answer: Sendable>(
        _ access: StepAccess,
        _ step: @escaping @Sendable (StoreTransaction) throws -> Answer
    ) async throws(StoreError) -> Answer {
        let result: Result<Answer, StoreError> = await withCheckedContinuation { waiter in
            let queued = TransactionStep(
                access: access,
                run: { transaction in
                    let answer = try step(transaction)
                    return { waiter.resume(returning: .success(answer)) }
                },
                refuse: { waiter.resume(returning: .failure($0)) }
            )
            if !self.transactions.put(queued) { queued.refuse(.unavailable) }
        }
        return try result.get()
    }

    package func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        try await self.perform(Step.access) { try step.run(in: $0) }
    }

    /// Runs a wallet's step in the next batch.
    private func inBatch<Answer: Sendable>(
        _ kind: (@escaping @Sendable (Result<Answer, StoreError>) -> Void) -> JudgingStep.Kind
    ) async throws(StoreError) -> Answer {
        let result: Result<Answer, StoreError> = await withCheckedContinuation { waiter in
            let step = JudgingStep(
                kind: kind { waiter.resume(returning: $0) },
                began: self.parts.machine.now()
            )
            if !self.judging.put(step) { step.refuse(.unavailable) }
        }
        return try result.get()
    }
}

extension PostgreSQLWalletStore {
    package func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity? {
        try await self.inBatch { .identity(wallet, $0) }
    }

    package func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome {
        try await self.inBatch { .session(session, $0) }
    }

    package func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome {
        guard attempt.writes else { return try await self.inBatch { .judge(attempt, $0) } }
        let (began, clock) = (self.parts.machine.now(), self.parts.machine.now)
        let (judged, facts, time) = try await self.perform(.writing) { transaction in
            var attempt = attempt
            attempt.now = JudgingStep.time(attempt.now, queuedAt: began, decidedAt: clock())
            return (try WritingAttempt(attempt).run(in: transaction), transaction.facts, attempt.now)
        }
        guard let leaf = judged.leaf, let signer = self.parts.receipts else { return CertifiedOutcome(judged.outcome) }
        let receipts = ReceiptBatch()
        let place = receipts.add(leaf, at: time)
        receipts.certify(by: signer, facts.receiptVersion, epoch: UInt64(facts.epoch))
        // The attempt was counted but not certified, so no verdict may be returned.
        guard let receipt = receipts.receipt(at: place), let signed = receipts.signed else { throw .notCertified }
        self.root.note(signed)
        return CertifiedOutcome(judged.outcome, receipt)
    }

    /// Returns if an attempt could be judged now, within the store's time limit.
    package func probe() async throws(StoreError) { try await self.inBatch { .probe($0) } }

    package func isSolutionRevoked() async throws(StoreError) -> Bool {
        try await self.perform(.reading) { $0.facts.isSolutionRevoked }
    }
}

extension PostgreSQLWalletStore {
    package var isShared: Bool { true }

    /// The number of this server's confirmed commits in the store's epoch.
    package var generation: UInt64 { self.confirmed.total }

    package func accountedGeneration(in epoch: Int) async throws(StoreError) -> UInt64 {
        let server = self.parts.server
        let accounted = try await self.perform(.reading) { try $0.session.accountedCommits(of: server) }
        return accounted.first { $0.epoch == Int64(epoch) }?.leastTotal ?? 0
    }

    package func announce(_ newest: StoredAuditMark) { self.announced.mark = newest }

    package var waitingSteps: Int { self.judging.count + self.transactions.count }

    package var lease: (any ServerLease)? { self.keeper.withLock(\.self) }

    /// Takes this server's lease; before that, the server must not serve wallets.
    package func takeLease() async throws(PostgreSQLStoreOpenError) {
        let keeper = try await LeaseKeeper.take(self.parts, self.confirmed)
        self.keeper.withLock { $0 = keeper }
    }

    /// Upgrades the tables of a store that was opened for an upgrade to this program's version.
    package func upgrade() async throws(PostgreSQLStoreOpenError) { _ = try await Self.migrate(self.parts) }

    /// Brings the tables to this program's version; returns their version before, nil if there was nothing to do.
    ///
    /// Changes nothing in a store that these parts could not open.
    package static func migrate(_ parts: StoreParts) async throws(PostgreSQLStoreOpenError) -> Int64? {
        var parts = parts
        parts.acceptsEarlierVersion = true
        let accepting = parts
        return try await self.onThread(of: accepting.machine) {
            // A database that lacks this server's commits is not upgraded: it may not be the newest one.
            let confirmed = accepting.acceptsLostCommits ? nil : try ConfirmedCommits(accepting)
            let session = try StoreSession(accepting, confirmed)
            return try accepting.schema.migrate(on: session.connection, within: accepting.timeLimit)
        }
    }
}
