internal import Dispatch
internal import Foundation
internal import HostSystem
internal import Synchronization
package import Metrics
internal import SQLiteClient
package import Statements
package import Vocabulary

/// A wallet store in a single SQLite file, used by a single process.
///
/// All steps run on one thread, which combines waiting steps into one transaction (``BatchWriter``). The folder
/// contains `wallets.db`, its log while the store is open, its mark (``StoreMark``), and `lock`, which names the
/// process that has the store open.
package final class SQLiteWalletStore: ServedStore {
    /// The folder that contains the store's files.
    let folder: String
    /// The version of the store before this process upgraded it, or nil if no upgrade was needed.
    package let upgradedFrom: Int?
    /// The store version that this program reads and writes.
    package static var version: Int { Schema.current.version }
    let queue: CommitQueue
    /// Nil for a store that lacks commits and is only copied.
    private let mark: StoreMark?
    private let committed: CommittedFacts
    private let announced = AnnouncedEntry()
    private let openings = Openings()
    package let commitLatency = CommitLatency()

    /// Removing one wallet changes rows in eight tables and their indexes.
    ///
    /// Searching 2000 wallets takes about a
    /// millisecond if they are in memory.
    package let limits = StepLimits(removedAtOnce: 8, searchedAtOnce: SQLiteWalletStore.searchedAtOnce)
    static let searchedAtOnce = 2000
    package let sweepCursor = SweepCursor()

    private init(
        folder: String,
        upgradedFrom: Int?,
        queue: CommitQueue,
        mark: StoreMark?,
        committed: CommittedFacts
    ) {
        self.folder = folder
        self.upgradedFrom = upgradedFrom
        self.queue = queue
        self.mark = mark
        self.committed = committed
    }

    deinit {
        self.queue.close()
    }

    /// Opens the store in a folder, or creates an empty one if `creating` is true.
    ///
    /// Blocks the calling thread. A missing store is an error unless `creating` is true, because an empty store in its
    /// place would forget every count. If `acceptingDamage` is true, a store that lacks commits is opened as far as
    /// possible. Such a store may be copied but not served, and the next attempt to open it fails again. If
    /// `acceptingMoved` is true, the same applies to a store that was moved. If a signer is given, every verdict gets a
    /// receipt. `onRefusal` is called with the reason when steps are refused. `onFatal` is called after a file error
    /// that may lose counts, and must end the process. The store's thread waits for steps by `wake`.
    package static func open(
        folder: String,
        key: RecordKey,
        creating: Bool = false,
        acceptingDamage: Bool = false,
        acceptingMoved: Bool = false,
        receipts signer: (any ReceiptSigner)? = nil,
        metrics factory: any MetricsFactory = NOOPMetricsHandler.instance,
        wake: any StoreWake = DispatchSemaphore(value: 0),
        onRefusal: @escaping @Sendable (String) -> Void = { _ in },
        onFatal: @escaping @Sendable (FatalStoreError) -> Never = { fatalError("\($0)") }
    ) throws(StoreOpenError) -> SQLiteWalletStore {
        let path = folder + "/wallets.db"
        let lock = try StoreLock(folder: folder, creating: creating)
        try self.makeFile(path, creating: creating)
        // rule: store-refused-file-opened
        try StoreFile.refuseOthers(path, creating: creating, acceptingMoved: acceptingMoved)
        let least = try self.generation(path, acceptingDamage: acceptingDamage)
        let isDamaged = least == nil
        let database: SQLiteDatabase
        let committed = CommittedFacts()
        let mark: StoreMark?
        let files: [WatchedFiles.Kept]?
        var upgradedFrom: Int?
        do {
            try self.requireWritable(path, in: folder)
            database = try Schema.open(path)
            do {
                if let least { try self.requireGeneration(least, in: database) }
                upgradedFrom = try Schema.current.migrate(database, creating: creating, acceptingMoved: acceptingMoved)
                // Finish the work of a killed process, so that no older copy of a destroyed share survives a start.
                try database.truncateLog()
                let connection = try StoreConnection(database, key: key)
                try connection.claimIfEmpty()
                committed.note(connection)
                let page = isDamaged ? nil : try connection.generationPage()
                mark = try page.map { try StoreMark(of: path, page: $0, generation: connection.generation) }
                files = try mark.map { mark in try WatchedFiles.look(at: path, mark) }
            } catch {
                // SQLite removes the log when the last connection is closed. Only then can the mark say that no log
                // exists.
                database.close()
                throw error
            }
        } catch {
            if !isDamaged { StoreMark.release(path) }
            throw StoreOpenError(error)
        }
        let meters = StoreMeters(factory)
        let queue = CommitQueue(meters: meters, wake: wake)
        let store = SQLiteWalletStore(
            folder: folder,
            upgradedFrom: upgradedFrom,
            queue: queue,
            mark: mark,
            committed: committed
        )
        // The thread does not keep the store, which closes the queue once no caller has it.
        let (announced, openings, latency) = (store.announced, store.openings, store.commitLatency)
        let handedOver = Mutex<SQLiteDatabase?>(database)
        let thread = Thread {
            guard let database = handedOver.withLock({ $0.take() }) else { return }
            do {
                let connection = try StoreConnection(
                    database,
                    key: key,
                    issuesReceipts: signer != nil,
                    openings: openings
                )
                connection.announced = announced
                let writer = BatchWriter(
                    connection: connection,
                    latency: latency,
                    meters: meters,
                    receipts: signer,
                    committed: committed,
                    mark: mark,
                    files: mark.map { WatchedFiles(of: path, mark: $0, files ?? []) },
                    log: LogPages(of: database),
                    onFatal: onFatal,
                    onRefusal: onRefusal
                )
                var duration = Duration.zero
                while let batch = queue.nextBatch(after: duration, writer.answerRead) {
                    duration = ContinuousClock().measure { writer.run(batch) }
                }
                writer.end()
            } catch {
                onFatal(FatalStoreError("wallet store: its facts cannot be read: \(error)"))
            }
            // Closing copies the log into the file and removes it. If that fails, the next start does it.
            database.close()
            if mark != nil { StoreMark.release(path) }
            lock.release()
            queue.end.reach()
        }
        thread.name = "wallet store"
        thread.start()
        return store
    }

    /// Checks that the store has every commit, and returns the generation that SQLite must find in it.
    ///
    /// Missing commits are an error unless `acceptingDamage` is true. Then the result is nil. SQLite removes all signs
    /// of damage when it opens the file, so the finding is kept in the store's mark.
    private static func generation(_ path: String, acceptingDamage: Bool) throws(StoreOpenError) -> UInt64? {
        do throws(StoreOpenError) {
            return try StoreCheck.run(path)
        } catch {
            guard acceptingDamage, case .damaged = error else { throw error }
            try mapError(StoreMark.condemn(path), to: StoreOpenError.init)  // rule: store-damage-forgotten-by-copying
            return nil
        }
    }

    /// Rejects a store that ends earlier for SQLite than for ``StoreCheck``, before anything is changed.
    ///
    /// Invariant (G4): the server judges PINs with the store that it checked. SQLite may have opened another file than
    /// the one that was checked, or used another log, for any reason.
    static func requireGeneration(_ least: UInt64, in db: SQLiteDatabase) throws {
        guard least > 0 else { return }
        let found = try? db.number("SELECT value FROM generation")
        let last = found.flatMap { UInt64(exactly: $0) } ?? 0
        guard last >= least else { throw StoreOpenError.damaged(.behind(last: last, mark: least)) }
    }

    /// Rejects files that this user may not write.
    ///
    /// SQLite would open them read-only and fail later, with an error code that does not explain the cause.
    private static func requireWritable(_ path: String, in folder: String) throws(FileError) {
        try DurableFile.requireWritable(folder)
        try DurableFile.requireWritable(path)
        do throws(FileError) { try DurableFile.requireWritable(path + "-wal") } catch .notFound {}
    }

    /// Creates an empty file with the right mode, which its log inherits.
    private static func makeFile(_ path: String, creating: Bool) throws(StoreOpenError) {
        guard creating, !DurableFile.isNamed(path) else { return }
        try mapError(DurableFile.create([], at: path), to: StoreOpenError.init)
    }

    package var expectedSteps: ExpectedSteps { self.queue.expected }

    /// The number of steps waiting for the next commit.
    package var waitingSteps: Int { self.queue.count }

    /// Returns after the store's thread has run a step, which shows that the thread is alive and its disk responds.
    package func answers() async {
        try? await self.queue.perform { _ in }
    }

    /// The generation of the last durable commit.
    ///
    /// It increases with every commit that changes the store.
    package var generation: UInt64 { self.committed.generation.load(ordering: .acquiring) }

    /// Keeps a copy of the store's mark beside an audit log, from this call on.
    ///
    /// - Precondition: The generation in an existing copy is not higher than the store's.
    package func keepMark(besideAuditLog path: String) async throws {
        guard let mark = self.mark else { return }
        let file = MarkCopy.path(besideAuditLog: path)
        let result = try await self.queue.betweenBatches { connection -> Result<Void, FileError> in
            Result { () throws(FileError) in try mark.keepCopy(at: file, connection.generation) }
        }
        try result.get()
    }

    /// Announces the newest durable audit log entry.
    ///
    /// The next commit with an audited change stores it.
    package func announce(_ newest: StoredAuditMark) { self.announced.mark = newest }

    /// Rejects further steps, finishes those waiting and closes the files.
    package func close() async {
        self.queue.close()
        await self.queue.end.reached()
    }
}

extension SQLiteWalletStore {
    package func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity? {
        try await self.queue.perform(
            reading: { connection -> StoredIdentity?? in .some(try connection.identity(of: wallet)) },
            otherwise: { try $0.identity(of: wallet) }
        )
    }

    package func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome {
        if let outcome = self.openings.begin(session) { return outcome }
        return try await self.queue.perform(
            reading: { try $0.sessionWithoutChange(session) },
            otherwise: { try $0.beginSession(session) }
        )
    }

    package func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome {
        try await self.queue.perform(
            { try $0.step(attempt) },
            answering: { judged in
                guard let leaf = judged.leaf else { return .success(CertifiedOutcome(judged.outcome)) }
                // The attempt was counted but not certified, so no verdict may be returned.
                guard let receipt = leaf.batch.receipt(at: leaf.place) else { return .failure(.notCertified) }
                return .success(CertifiedOutcome(judged.outcome, receipt))
            }
        )
    }

    package var newestRoot: SignedRoot? { self.committed.newestRoot.withLock { $0 } }

    package func isSolutionRevoked() async throws(StoreError) -> Bool {
        self.committed.isSolutionRevoked.load(ordering: .acquiring)
    }
}
