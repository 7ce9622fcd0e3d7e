internal import PostgreSQLClient
internal import PostgreSQLStore

/// PostgreSQL with a synchronous standby, as the store sees it.
///
/// Each statement runs at one moment (``StatementExecution``), sees what is committed and what its transaction has
/// changed, and waits for the locks that it needs. A commit gets its place in the log at once.
/// It becomes visible, releases its locks and is answered when the standby has it, or when its wait is cancelled.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class SimulatedDatabase: @unchecked Sendable {
    /// A commit that the standby does not have yet.
    struct Commit {
        let number: Int
        let transaction: DatabaseTransaction
        var isVisible = false
        /// Called once the commit is visible.
        let answer: (_ isWarned: Bool) -> Void
    }

    /// A statement that waits for a lock.
    private struct Waiting {
        let backend: Backend
        let attempt: () -> Bool
    }

    unowned let run: Simulation
    var scheduler: Scheduler { self.run.scheduler }
    private var generator: SeededGenerator
    /// The committed state of the primary.
    var visible = DatabaseTables()
    /// The state that the standby has.
    var standby = DatabaseTables()
    /// The commits that the standby does not have, in order.
    var log: [Commit] = []
    private var lastCommit = 0
    private var locks: [DatabaseLock: [(holder: DatabaseTransaction, isShared: Bool)]] = [:]
    private var waiting: [Waiting] = []
    private var backends: [Backend] = []
    /// Incremented when the primary restarts or another one takes its place.
    private var generation = 0
    private var lastPlace: Int64 = 0
    /// Earlier states of the standby, and their times.
    var history: [(tables: DatabaseTables, time: Int64)] = []
    private static let longestHistory = 60
    /// The time of the state to which the last loss of confirmed commits reverted the database.
    var lossTime: Int64?
    /// The next revocation is lost by a failover after this many microseconds.
    var loseNextRevocation: (failover: Int64, then: (_ downUntil: Int64) -> Void)?
    /// Whether a statement of an operator's program is running, outside the simulated time.
    var isOutside = false

    /// The times until which faults last, in microseconds.
    var downUntil: Int64 = 0
    var slowUntil: Int64 = 0
    var standbyAwayUntil: Int64 = 0
    var cancelsWaitsUntil: Int64 = 0
    private var cutUntil: [Int: Int64] = [:]
    private var connectBlocksUntil: [Int: Int64] = [:]
    /// The difference between the primary's clock and the simulated time, in milliseconds.
    private var clockOffset: Int64 = 0
    private var clockStep: (seconds: Int, until: Int64) = (0, 0)

    init(_ run: Simulation) {
        self.run = run
        self.generator = SeededGenerator(seed: run.plan.seed, "database")
    }

    /// A copy of a database as its standby has it.
    init(copying original: SimulatedDatabase) {
        self.run = original.run
        self.generator = SeededGenerator(seed: original.run.plan.seed, "copy of the database")
        (self.visible, self.standby, self.lastPlace) = (original.standby, original.standby, original.lastPlace)
    }

    var isEmpty: Bool { self.visible.facts == nil }

    /// The database's clock in milliseconds since 1970.
    var clock: Int64 {
        let step = self.scheduler.now < self.clockStep.until ? Int64(self.clockStep.seconds) * 1000 : 0
        return SimulatedClock.start + self.scheduler.now / 1000 + self.clockOffset + step
    }

    func nextPlace() -> Int64 {
        self.lastPlace += 1
        return self.lastPlace
    }

    // MARK: Connections

    /// The travel time of a message in microseconds.
    private var latency: Int64 {
        let isSlow = self.scheduler.now < self.slowUntil
        return .random(in: isSlow ? 50_000...900_000 : 100...2_000, using: &self.generator)
    }

    private func isCut(_ server: Int?) -> Bool { self.scheduler.now < server.flatMap { self.cutUntil[$0] } ?? 0 }

    /// The time for which an attempt of a server to connect blocks, in microseconds; nil if it does not.
    func connectBlock(of server: Int) -> Int64? {
        let left = (self.connectBlocksUntil[server] ?? 0) - self.scheduler.now
        return left > 0 ? left : nil
    }

    /// The servers with a session.
    var serverSessions: [String] { self.backends.compactMap { $0.server.map { "server \($0 + 1)" } } }

    func accept(_ process: SimulatedProcess, _ server: Int, _ answer: @escaping (Backend?) -> Void) {
        self.scheduler.schedule(after: self.latency, in: self.run.world) {
            guard !self.isCut(server), process.isAlive else { return }
            guard self.scheduler.now >= self.downUntil else {
                // A machine that is gone does not answer; one that restarts refuses.
                guard self.generator.chance(70) else { return }
                return self.scheduler.schedule(after: self.latency, in: process) { answer(nil) }
            }
            let backend = Backend(process, server: server)
            self.backends.append(backend)
            self.scheduler.schedule(after: self.latency, in: process) { answer(backend) }
        }
    }

    /// A client closes its end, or its process ends.
    func clientCloses(_ backend: Backend) {
        backend.isAbandoned = true
        // An idle session that does not hear of it ends after its time limit.
        let delay = self.isCut(backend.server) ? 5_000_000 : self.latency
        self.scheduler.schedule(after: delay, in: self.run.world) {
            guard !backend.isBusy else { return }
            self.end(backend)
        }
    }

    func processEnds(_ process: SimulatedProcess) {
        for backend in self.backends where backend.process === process { self.clientCloses(backend) }
    }

    /// Ends the open transactions of a frozen process after the time limit of an idle transaction.
    func processFreezes(_ process: SimulatedProcess) {
        self.scheduler.schedule(after: 5_000_000, in: self.run.world) {
            guard self.scheduler.now < process.frozenUntil else { return }
            for backend in self.backends where backend.process === process && !backend.isBusy {
                guard backend.transaction != nil else { continue }
                self.end(backend)
                self.scheduler.schedule(after: self.latency, in: process) { backend.lose() }
            }
        }
    }

    private func end(_ backend: Backend) {
        guard !backend.isOver else { return }
        backend.isOver = true
        self.backends.removeAll { $0 === backend }
        if let transaction = backend.transaction.take() { self.release(transaction) }
        self.release(backend.session)
    }

    // MARK: Statements

    /// Takes a statement from a client, which gets at most one answer.
    func receive(
        _ statement: StoreStatement,
        on backend: Backend,
        _ answer: @escaping (DatabaseAnswer) -> Void
    ) {
        guard !backend.isLost else {
            return self.scheduler.schedule(after: 10, in: backend.process) { answer(.lost) }
        }
        backend.onLoss = { answer(.lost) }
        self.scheduler.schedule(after: self.latency, in: self.run.world) {
            guard !backend.isOver, !self.isCut(backend.server) else { return }
            backend.isBusy = true
            self.execute(statement, on: backend) { result in
                backend.isBusy = false
                if backend.isAbandoned { self.end(backend) }
                guard !self.isCut(backend.server) else { return }
                self.scheduler.schedule(after: self.latency, in: backend.process) {
                    guard !backend.isLost else { return }
                    backend.onLoss = nil
                    answer(result)
                }
            }
        }
    }

    func execute(
        _ statement: StoreStatement,
        on backend: Backend,
        _ answer: @escaping (DatabaseAnswer) -> Void
    ) {
        func done(_ command: String) -> DatabaseAnswer { .rows(SimulatedRows(command: command), isWarned: false) }
        switch statement {
        case .session(.begin):
            backend.transaction = DatabaseTransaction()
            return answer(done("BEGIN"))
        case .session(.rollBack):
            if let transaction = backend.transaction.take() { self.release(transaction) }
            return answer(done("ROLLBACK"))
        case .session(.commit):
            let transaction = backend.transaction.take()
            guard let transaction, !transaction.hasFailed else {
                if let transaction { self.release(transaction) }
                return answer(done("ROLLBACK"))
            }
            return self.commit(transaction) { answer(.rows(SimulatedRows(command: "COMMIT"), isWarned: $0)) }
        case .sql(let text, _):
            return self.run.observer.report("the simulated database has no statement: \(text)", inLoss: true)
        default: break
        }
        let isSeparate = backend.transaction == nil
        let transaction = backend.transaction ?? DatabaseTransaction()
        guard !transaction.hasFailed else { return answer(.rejected("25P02")) }
        self.tryOrWait(backend) {
            var execution = StatementExecution(self, backend, transaction)
            do {
                let rows = try execution.carryOut(statement)
                transaction.changes += execution.changes
                transaction.tables.formUnion(execution.changed)
                transaction.notified.formUnion(execution.notified)
                if isSeparate {
                    self.commit(transaction) { answer(.rows(rows, isWarned: $0)) }
                } else {
                    answer(.rows(rows, isWarned: false))
                }
            } catch is StatementExecution.Blocked {
                return false
            } catch let rejection as StatementExecution.Rejected {
                transaction.hasFailed = true
                if isSeparate { self.release(transaction) }
                answer(.rejected(rejection.state))
            } catch {
                preconditionFailure("statements throw nothing else")
            }
            return true
        }
    }

    /// Runs an attempt, and again after each release of a lock until it succeeds.
    private func tryOrWait(_ backend: Backend, _ attempt: @escaping () -> Bool) {
        if !attempt() { self.waiting.append(Waiting(backend: backend, attempt: attempt)) }
    }

    // MARK: Locks

    /// Takes a lock for a transaction; returns false if another one holds it.
    func lock(_ lock: DatabaseLock, isShared: Bool, for transaction: DatabaseTransaction) -> Bool {
        let holders = self.locks[lock] ?? []
        let others = holders.filter { $0.holder !== transaction }
        guard others.allSatisfy({ isShared && $0.isShared }) else { return false }
        self.locks[lock] = holders + [(transaction, isShared)]
        return true
    }

    /// Makes a transaction visible and releases its locks.
    func apply(_ transaction: DatabaseTransaction) {
        for change in transaction.changes { change(&self.visible) }
        self.release(transaction)
    }

    private func release(_ transaction: DatabaseTransaction) {
        for (lock, holders) in self.locks {
            let others = holders.filter { $0.holder !== transaction }
            if others.count < holders.count { self.locks[lock] = others.isEmpty ? nil : others }
        }
        let waiting = self.waiting
        self.waiting = []
        for statement in waiting where !statement.backend.isOver {
            if !statement.attempt() { self.waiting.append(statement) }
        }
    }

    // MARK: Commits

    private func commit(_ transaction: DatabaseTransaction, _ answer: @escaping (_ isWarned: Bool) -> Void) {
        guard !transaction.changes.isEmpty else {
            self.release(transaction)
            self.notify(transaction)
            return answer(false)
        }
        if self.isOutside {
            self.apply(transaction)
            self.standby = self.visible
            return answer(false)
        }
        self.lastCommit += 1
        let number = self.lastCommit
        self.run.observer.note("database", "commit \(number): \(transaction.tables.sorted().joined(separator: ", "))")
        self.log.append(Commit(number: number, transaction: transaction, answer: answer))
        self.replicate(upTo: number, after: .random(in: 200...3_000, using: &self.generator))
        let isLost = self.isLostRevocation(transaction)
        guard isLost || self.scheduler.now < self.cancelsWaitsUntil else { return }
        self.inGeneration(after: .random(in: 5_000...(isLost ? 50_000 : 1_500_000), using: &self.generator)) {
            guard let place = self.log.firstIndex(where: { $0.number == number && !$0.isVisible }) else { return }
            self.log[place].isVisible = true
            self.show(self.log[place], isWarned: true)
        }
    }

    /// Runs an action later, unless the primary has restarted or was replaced by then.
    private func inGeneration(after delay: Int64, _ action: @escaping () -> Void) {
        let generation = self.generation
        self.scheduler.schedule(after: delay, in: self.run.world) {
            if generation == self.generation { action() }
        }
    }

    /// Sends the log to the standby.
    private func replicate(upTo number: Int, after delay: Int64) {
        self.inGeneration(after: delay) {
            let wait = self.standbyAwayUntil - self.scheduler.now
            guard wait <= 0 else { return self.replicate(upTo: number, after: wait) }
            let received = self.log.filter { $0.number <= number }
            self.log.removeAll { $0.number <= number }
            self.history = self.history.suffix(Self.longestHistory - 1) + [(self.standby, self.scheduler.now)]
            for commit in received { for change in commit.transaction.changes { change(&self.standby) } }
            for commit in received where !commit.isVisible { self.show(commit, isWarned: false) }
        }
    }

    /// Makes a commit visible.
    private func show(_ commit: Commit, isWarned: Bool) {
        for change in commit.transaction.changes { change(&self.visible) }
        if self.visible.facts?.lostCommits == true { self.run.openEpochSoon() }
        self.notify(commit.transaction)
        commit.answer(isWarned)
        self.release(commit.transaction)
    }

    private func notify(_ transaction: DatabaseTransaction) {
        for backend in self.backends where !self.isCut(backend.server) {
            for channel in backend.channels.intersection(transaction.notified).sorted() {
                self.scheduler.schedule(after: self.latency, in: backend.process) { backend.notify(channel) }
            }
        }
    }

    // MARK: Faults

    /// The standby becomes the primary, without the commits that it does not have.
    func failOver() {
        self.run.observer.note("database", "fails over; \(self.log.count) commits are lost")
        self.visible = self.standby
        self.log = []
        self.standbyAwayUntil = 0
        self.endSessions(downFor: .random(in: 1_000_000...15_000_000, using: &self.generator))
        self.clockOffset = .random(in: -800...800, using: &self.generator)
    }

    /// The primary restarts; the standby does not have its last commits yet.
    func restart() {
        self.run.observer.note("database", "restarts; the standby lacks \(self.log.count) commits")
        for place in self.log.indices where !self.log[place].isVisible {
            self.log[place].isVisible = true
            for change in self.log[place].transaction.changes { change(&self.visible) }
        }
        let time = Int64.random(in: 300_000...4_000_000, using: &self.generator)
        self.endSessions(downFor: time)
        let delay = time + .random(in: 0...2_000_000, using: &self.generator)
        if let last = self.log.last { self.replicate(upTo: last.number, after: delay) }
    }

    /// Ends all sessions, and accepts none for a time in microseconds.
    func endSessions(downFor time: Int64) {
        self.generation += 1
        (self.locks, self.waiting) = ([:], [])
        self.downUntil = self.scheduler.now + time
        let lost = self.backends
        self.backends = []
        for backend in lost {
            backend.isOver = true
            // A machine that is gone says nothing: the client notices with its next statement, or by its limit.
            let delay = self.generator.chance(70) ? self.latency : 4_000_000
            self.scheduler.schedule(after: delay, in: backend.process) { backend.lose() }
        }
    }

    /// Cuts a server off from the database.
    ///
    /// - Parameter blocksConnect: Whether its attempts to connect block for all this time, regardless of their limit.
    func cut(_ server: Int, seconds: Int, blocksConnect: Bool = false) {
        self.cutUntil[server] = self.scheduler.now + Int64(seconds) * 1_000_000
        if blocksConnect { self.connectBlocksUntil[server] = self.cutUntil[server] }
    }

    /// Steps the database's clock until a time.
    func stepClock(seconds: Int, until time: Int64) { self.clockStep = (seconds, time) }

    /// Ends all faults.
    func heal() {
        (self.slowUntil, self.standbyAwayUntil, self.cancelsWaitsUntil) = (0, 0, 0)
        (self.cutUntil, self.connectBlocksUntil, self.clockStep) = ([:], [:], (0, 0))
        self.loseNextRevocation = nil
    }
}
