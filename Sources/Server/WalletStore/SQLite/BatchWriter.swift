internal import HostSystem
internal import Metrics
internal import SQLiteClient
internal import Statements
internal import Synchronization
internal import Vocabulary

/// Runs each batch of steps in one transaction, on the store's thread.
///
///     BEGIN IMMEDIATE ─▶ every step ─▶ the root of the receipts, signed ─▶ COMMIT, synced ─▶ every answer
///
/// Invariant (G4): an answer leaves this thread only after the commit that contains its count has been synced. If the
/// disk is full, the whole batch fails regardless of the outcomes of its steps, so the refusal reveals nothing. After
/// any other file error the process exits, because a later sync may succeed without the lost page and counted attempts
/// could then be missing.
struct BatchWriter {
    let connection: StoreConnection
    var latency = CommitLatency()
    var meters = StoreMeters.none
    /// Signs the receipts' roots; nil if the store issues no receipts.
    var receipts: (any ReceiptSigner)?
    var committed = CommittedFacts()
    /// The store's mark, or nil if the store is not being served.
    var mark: StoreMark?
    /// The store's files, or nil if they are not watched.
    var files: WatchedFiles?
    /// The write-ahead log, or nil to leave it to SQLite's automatic checkpoints.
    var log: LogPages?
    let onFatal: @Sendable (FatalStoreError) -> Never
    /// Called with the reason for each refusal, for the log.
    var onRefusal: @Sendable (String) -> Void = { _ in }

    /// The reason a transaction was rolled back.
    private enum Failure {
        /// The disk is full, or a quota or limit is reached: the batch was not written, and no verdict is disclosed.
        case diskFull
        /// A step threw an error, so the batch is repeated with a savepoint for each step.
        case step
    }

    /// A function that sends a step's answer, and whether the log must be emptied first.
    private typealias Prepared = (answer: @Sendable () -> Void, truncates: Bool)

    /// Answers a step that writes nothing; returns false if the step must run in a transaction.
    ///
    /// Invariant (G4): this runs between two transactions, so the answer discloses only durable values. If the step
    /// fails, it fails again in the transaction, where the error is handled.
    func answerRead(_ step: CommitQueue.PendingStep) -> Bool {
        precondition(!self.connection.db.isInTransaction, "a read sees no change that is not durable")
        guard let answer = (try? step.read?(self.connection)) ?? nil else { return false }
        answer()
        return true
    }

    /// Runs one batch and answers each of its steps.
    ///
    /// Invariant (G3, G4): nothing is judged any more once the schema has an object that this program does not make, or
    /// another program has replaced or written a file of the store.
    func run(_ batch: [CommitQueue.PendingStep]) {
        self.watch { files throws(WatchedFiles.Change) in try files.requireUnchangedLog() }
        // The answers have been sent. If this fails, the next batch finds the same.
        defer { try? self.files?.acceptOwnWrites() }
        // If the schema cannot be read, neither can the batch.
        let differences = (try? self.connection.schemaDifferences(at: .now)) ?? []
        if !differences.isEmpty {
            self.onFatal(FatalStoreError("wallet store: \(StoreOpenError.otherSchema(differences))"))
        }
        switch self.outcome(of: batch, apart: false) {
        case nil: break
        case .diskFull: self.refuse(batch, .unavailable)
        case .step:
            switch self.outcome(of: batch, apart: true) {
            case nil: break
            case .diskFull: self.refuse(batch, .unavailable)
            // No single step is at fault: the store itself cannot be read.
            case .step: self.refuse(batch, .corrupt)
            }
        }
    }

    private func refuse(_ batch: [CommitQueue.PendingStep], _ reason: StoreError) {
        self.meters.failedBatches.increment()
        for step in batch { step.refuse(reason) }
    }

    /// Commits a batch and answers its steps.
    ///
    /// If the commit fails, no step is answered.
    private func outcome(of batch: [CommitQueue.PendingStep], apart: Bool) -> Failure? {
        var prepared: [Prepared] = []
        prepared.reserveCapacity(batch.count)
        var hasChanged = false
        let start = ContinuousClock.now
        do {
            try self.connection.begin()
            for step in batch {
                prepared.append(apart ? try self.runApart(step) : try self.run(step))
            }
            if let signer = self.receipts {
                self.connection.receipts?.certify(
                    by: signer,
                    self.connection.facts.receiptVersion,
                    epoch: UInt64(self.connection.facts.epoch)
                )
            }
            hasChanged = try self.connection.commit()
            if hasChanged { self.noteCommit() }  // rule: store-mark-not-raised
            self.watch { files throws(WatchedFiles.Change) in try files.accept() }
            self.committed.note(self.connection)
            let duration = ContinuousClock.now - start
            self.latency.note(duration)
            self.meters.commit.record(duration)
            self.meters.batch.record(batch.count)
        } catch {
            self.rollBack()
            let failure = self.failure(for: error)
            if failure == .diskFull || apart { self.onRefusal(Self.text(error)) }
            return failure
        }
        self.answer(prepared, to: batch)
        if hasChanged, self.connection.owesTruncation, !prepared.contains(where: \.truncates) { _ = self.emptyLog() }
        self.copyLog(after: batch.count)
        return nil
    }

    /// The number of pages in the log at which it is copied into the database after a batch of this many steps.
    ///
    /// Copying a page takes about 6 µs (Benchmarks/experiments.md), and steps that arrive in the meantime wait. Small
    /// batches are a sign of a light load, under which pages are copied in small parts. Under a heavy load, most pages
    /// are soon written again, which makes their copies useless, so more pages are collected first.
    private static func mostLogPages(after stepCount: Int) -> Int { stepCount <= 4 ? 200 : 1000 }

    /// Copies the log into the database if it is long enough, after the batch has been answered.
    private func copyLog(after stepCount: Int) {
        guard let log = self.log, log.count >= Self.mostLogPages(after: stepCount) else { return }
        self.files?.noteOwnWrites()
        log.copyToDatabase()
    }

    /// Writes the number of the synced commit to the mark, before any answer is sent.
    private func noteCommit() {
        do throws(FileError) {
            try self.mark?.note(self.connection.generation)
        } catch {
            // On storage that writes to new blocks, even this write needs free space.
            var isDiskFull = false
            if case .diskFull = error { isDiskFull = true }
            let reason = "wallet store: \(error); the process ends because lost attempts could go unnoticed"
            self.onFatal(FatalStoreError(reason, isDiskFull: isDiskFull))
        }
    }

    /// Ends the process if another program has changed the store's files.
    private func watch(_ look: (WatchedFiles) throws(WatchedFiles.Change) -> Void) {
        guard let files else { return }
        do throws(WatchedFiles.Change) {
            try look(files)
        } catch {
            self.onFatal(
                FatalStoreError(
                    "wallet store: \(error). The process ends because counted attempts could be lost. Put the store's "
                        + "own files back before the next start"
                )
            )
        }
    }

    /// Shuts the store down cleanly: moves everything into the database and records that in the mark.
    ///
    /// If this fails, the mark still says that the store is in use, and the next start reads the log.
    func end() {
        guard (try? self.connection.truncateLog()) != nil else { return }
        try? self.mark?.end(self.connection.generation)
    }

    private func run(_ step: CommitQueue.PendingStep) throws -> Prepared {
        self.connection.mustTruncateLog = false
        let answer = try step.run(self.connection)
        return (answer, self.connection.mustTruncateLog)
    }

    /// Runs a step inside a savepoint.
    ///
    /// If the step throws, only this step is undone and refused. The refusal waits for the commit, like any other
    /// answer.
    private func runApart(_ step: CommitQueue.PendingStep) throws -> Prepared {
        let leafCount = self.connection.receipts?.count ?? 0
        try self.connection.beginStep()
        do {
            let prepared = try self.run(step)
            try self.connection.endStep()
            return prepared
        } catch {
            if case .diskFull = self.failure(for: error) { throw error }
            try self.connection.undoStep()
            self.connection.receipts?.truncate(to: leafCount)
            let reason = error as? StoreError ?? .corrupt
            if error is SQLiteFailure { self.onRefusal("\(error)") }
            return ({ step.refuse(reason) }, false)
        }
    }

    /// Sends the answers.
    ///
    /// Answers to steps that destroyed shares are held back until the log contains no older copies of those shares.
    private func answer(_ prepared: [Prepared], to batch: [CommitQueue.PendingStep]) {
        let isEmptied = !prepared.contains(where: \.truncates) || self.emptyLog()
        for (step, done) in zip(batch, prepared) {
            if done.truncates && !isEmptied { step.refuse(.notErased) } else { done.answer() }
        }
    }

    /// Empties the log.
    ///
    /// Returns false if the disk is full. At this point, the step that destroyed shares is already committed, and its
    /// caller may never repeat it. A wallet that has confirmed its next shares is an example. Therefore, every later
    /// commit tries again after its answers until the log is empty.
    private func emptyLog() -> Bool {
        self.files?.noteOwnWrites()
        do {
            try self.connection.truncateLog()
            return true
        } catch {
            if case .step = self.failure(for: error) { self.onFatal(self.fatal(error)) }
            return false
        }
    }

    private func rollBack() {
        self.files?.noteOwnWrites()
        do {
            try self.connection.rollBack()
        } catch {
            self.onFatal(self.fatal(error))
        }
    }

    /// Classifies an error.
    ///
    /// Does not return if it is a file error.
    private func failure(for error: any Error) -> Failure {
        switch (error as? SQLiteFailure)?.kind {
        case .lackOfRoom, .locked: return .diskFull
        case nil, .damaged, .rejected: return .step
        case .notADatabase, .other: self.onFatal(self.fatal(error))  // rule: store-failed-sync-survived
        }
    }

    /// Returns the reason for the log.
    ///
    /// It never includes text from a peer.
    private static func text(_ error: any Error) -> String {
        (error as? SQLiteFailure).map { "\($0)" } ?? "the store holds data that it did not write"
    }

    private func fatal(_ error: any Error) -> FatalStoreError {
        FatalStoreError(
            "wallet store: \(Self.text(error)); the process ends because counted attempts may be lost"
        )
    }
}

/// Facts as of the last commit, which can be read without running a step.
///
/// They are updated after the commit and before its answers, so a client that was notified of a change finds it here.
/// No other process writes to the file.
final class CommittedFacts: Sendable {
    let isSolutionRevoked = Atomic(false)
    let generation = Atomic<UInt64>(0)
    /// The newest signed receipt root, or nil before the first verdict.
    let newestRoot = Mutex<SignedRoot?>(nil)

    func note(_ connection: StoreConnection) {
        // rule: store-revoked-solution-not-announced
        self.isSolutionRevoked.store(connection.facts.isSolutionRevoked, ordering: .releasing)
        self.generation.store(connection.generation, ordering: .releasing)
        if let signed = connection.receipts?.signed { self.newestRoot.withLock { $0 = signed } }
    }
}
