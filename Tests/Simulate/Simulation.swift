internal import Dispatch
internal import Foundation
internal import HistoryChecker
internal import HostSystem
internal import Lab
internal import PINPolicy
internal import RemotePINServer
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import WalletStore
internal import Wire

/// One run: one or two servers, phones with their owners, the network and the faults of a plan, until the end of its
/// last day.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class Simulation: @unchecked Sendable {
    /// The result of a run.
    struct Report: Sendable {
        var violation: String?
        var hash: UInt64
        var lines: [String]
        var unlocks: Int
        /// The number of faults that were injected, by kind.
        var faults: [String: Int]
    }

    let plan: Plan
    let scheduler: Scheduler
    let observer: Observer
    let network: Network
    let disk = SimulatedDisk()
    let folder: String
    /// The instant that stands for the start of the simulated time.
    private let start = ContinuousClock.now
    /// Everything outside the processes: faults, restarts, owners.
    let world: SimulatedProcess
    private(set) var servers: [any ServerMachine] = []
    /// The server with SQLite; nil if there are servers with PostgreSQL.
    private(set) var embedded: SimulatedServer?
    /// The database of the servers; during a split brain, the one that all of them will have.
    var database: SimulatedDatabase?
    /// Whether the operator is working on a database that lacks commits, so that no server is started.
    var isOpeningEpoch = false
    /// Whether the server that the next division cuts off loses its power at the end.
    var powerFailsAfterDivision = false
    var operatorGenerator: SeededGenerator
    private(set) var phones: [Phone] = []
    private var injected: [String: Int] = [:]
    private let result: Box<Report?>
    private let finished: DispatchSemaphore

    private init(
        _ plan: Plan,
        folder: String,
        authority: LabAuthority,
        authorityFolder: String,
        _ result: Box<Report?>,
        _ done: DispatchSemaphore
    ) throws {
        self.plan = plan
        self.folder = folder
        (self.result, self.finished) = (result, done)
        self.scheduler = Scheduler(seed: plan.seed)
        self.operatorGenerator = SeededGenerator(seed: plan.seed, "operator's work")
        // The clock of the server may be wrong by any of its steps.
        let steps = plan.faults.reduce(0) { sum, fault in
            switch fault.kind {
            case .serverClock(let seconds), .databaseClock(let seconds, _): sum + abs(seconds)
            // Another machine has another clock.
            case .failover, .lossyFailover, .division, .lostRevocation: sum + 1
            default: sum
            }
        }
        // Servers with PostgreSQL know its clock to a second.
        let tolerance: Duration = .seconds(steps) + .milliseconds(plan.isShared ? 1050 : 50)
        let rules = CheckerRules(policy: plan.policy, clockTolerance: tolerance)
        self.observer = Observer(self.scheduler, rules, isShared: plan.isShared)
        self.network = Network(seed: plan.seed, self.scheduler, self.observer)
        self.world = SimulatedProcess("world", self.scheduler)
        if plan.isShared {
            let database = SimulatedDatabase(self)
            self.database = database
            try SharedServer.createVault(in: folder)
            self.servers = try (0..<2).map { try SharedServer($0, self, database, authority, folder: folder) }
        } else {
            let server = try SimulatedServer(self, authority: authority, folder: folder)
            self.embedded = server
            self.servers = [server]
            self.disk.decide = { server.decide(isWrite: $0) }
            let observer = self.observer
            self.disk.onSync = { observer.note("disk", "syncs \($0), \($1) writes") }
        }
        self.phones = try plan.visits.indices.map { try Phone($0, self, authority: authorityFolder) }
    }

    /// Runs a plan to its end.
    ///
    /// - Parameters:
    ///   - folder: A folder for the files of the run; removed afterwards.
    ///   - authority: The lab's authority, and its folder.
    static func run(_ plan: Plan, folder: String, authority: (LabAuthority, folder: String)) -> Report {
        let (result, done) = (Box<Report?>(nil), DispatchSemaphore(value: 0))
        let thread = Thread {
            do {
                try DurableFile.makeFolder(folder)
                let simulation = try Simulation(
                    plan,
                    folder: folder,
                    authority: authority.0,
                    authorityFolder: authority.folder,
                    result,
                    done
                )
                unsafe SimulatedDisk.active = simulation.disk
                simulation.begin()
                simulation.finish()
            } catch {
                result.value = Report(violation: "cannot begin: \(error)", hash: 0, lines: [], unlocks: 0, faults: [:])
                done.signal()
            }
        }
        // A process that ends inside a function leaves its frames on the stack.
        thread.stackSize = 64 << 20
        thread.start()
        done.wait()
        try? FileManager.default.removeItem(atPath: folder)
        guard let report = result.value else { preconditionFailure("the run has a report") }
        return report
    }

    private func begin() {
        for server in self.servers { server.start() }
        for fault in self.plan.faults {
            self.scheduler.schedule(after: fault.time, in: self.world) { self.apply(fault) }
        }
        for (phone, visits) in zip(self.phones, self.plan.visits) { phone.begin(visits) }
        self.scheduler.run { self.isOver || self.isTooLate }
    }

    private var isOver: Bool {
        self.observer.violation != nil || self.observer.isEnded || self.phones.allSatisfy(\.isDone)
    }

    /// Whether the phones' last attempts should have ended hours ago.
    ///
    /// The servers' timers would keep the run alive.
    private var isTooLate: Bool { self.scheduler.now > self.plan.end + 6 * 3_600_000_000 }

    /// Continues the run inside a function that must not return.
    func neverReturn() -> Never {
        self.scheduler.run { self.isOver || self.isTooLate }
        self.finish()
        DispatchSemaphore(value: 0).wait()
        preconditionFailure("nothing signals the semaphore")
    }

    private func finish() {
        if !self.isOver {
            let isEndless = self.isTooLate || self.scheduler.stepCount >= Scheduler.mostSteps
            self.observer.report(isEndless ? "the run does not end" : "the run has come to a standstill")
        }
        self.result.value = Report(
            violation: self.observer.violation?.description,
            hash: self.observer.trace.hash,
            lines: self.observer.trace.lines,
            unlocks: self.phones.reduce(0) { $0 + $1.unlocks },
            faults: self.injected
        )
        // Suspended tasks and their continuations must not be freed.
        self.scheduler.keep(self)
        self.finished.signal()
    }

    /// Sends a deletion code from another program.
    func sendCode(_ code: DeletionCode) {
        let process = SimulatedProcess("browser", self.scheduler)
        self.scheduler.enter(process) {
            Task {
                guard let connection = try? await self.network.connect(process) else { return }
                _ = try? await connection.call(.revokeWithCode(code.characters), timeout: .seconds(20))
                connection.close()
            }
        }
        self.scheduler.keep(process)
    }

    /// The first server that serves.
    var anyServer: (any ServerMachine)? { self.servers.first { $0.running != nil } }

    /// The time that passes, as the server measures it.
    var time: PassingTime {
        let (scheduler, start) = (self.scheduler, self.start)
        var time = PassingTime()
        time.now = { start + .microseconds(scheduler.now) }
        time.sleepUntil = { await scheduler.wait(Int64(($0 - start) / .microseconds(1)) - scheduler.now) }
        return time
    }

    // MARK: Faults

    private func apply(_ fault: Fault) {
        self.observer.note("fault", "\(fault.kind)")
        self.injected[fault.kind.name, default: 0] += 1
        func until(_ seconds: Int) -> Int64 { self.scheduler.now + Int64(seconds) * 1_000_000 }
        switch fault.kind {
        case .killServer(let number, let jobs, let power):
            let server = self.servers[number % self.servers.count]
            self.network.atNextRequest { _ in
                server.process?.plan(after: jobs) { server.kill(power: power, "by plan") }
            }
        case .killServerAfterRecord(let number, let jobs, let power):
            self.servers[number % self.servers.count].killAfterRecord = (jobs, power)
        case .killServerAtWrite(let writes, let power):
            self.network.atNextRequest { _ in self.embedded?.killAtWrite = (writes, power) }
        case .killDuringStart(let number, let moment, let power):
            let server = self.servers[number % self.servers.count]
            server.killAtStart = (moment, power)
            server.kill(power: false, "by plan")
        case .killDuringRestore(let stage): self.embedded?.killAtStage = stage
        case .recordsRefused(let number, let entries, let seconds):
            self.servers[number % self.servers.count].auditDisk.refuse(after: entries, seconds: seconds)
        case .recordNotSynced(let number): self.servers[number % self.servers.count].auditDisk.failsSync = true
        case .markFails: self.embedded?.failsMark = true
        case .flipBitOfStore: self.embedded?.kill(power: false, "by plan", flipping: .store)
        case .solutionRevoked(let seconds): self.revokeSolution(for: Int64(seconds) * 1_000_000)
        case .recoveryCodeRevoked(let phone): self.phones[phone].revokeRecoveryCode()
        case .lostVerdicts(let count): self.network.lostVerdicts = count
        case .flipBit(let name): self.embedded?.kill(power: false, "by plan", flipping: name)
        case .diskFull(let seconds): self.embedded?.fullUntil = until(seconds)
        case .diskFails(let atWrite): self.embedded?.nextFailure = atWrite
        case .slowDisk(let seconds): self.embedded?.slowUntil = until(seconds)
        case .moduleSilent(let seconds): for server in self.servers { server.moduleSilentUntil = until(seconds) }
        case .slowServer(let seconds): for server in self.servers { server.isSlowUntil = until(seconds) }
        case .serverClock(let seconds): self.embedded?.clock.offset += Int64(seconds) * 1000
        case .lossyFailover(let delay, let lost):
            self.network.atNextRequest { _ in
                self.scheduler.schedule(after: delay, in: self.world) { self.database?.failOverLosing(lost) }
            }
        case .division(let delay, let number, let seconds):
            self.network.atNextRequest { _ in
                self.scheduler.schedule(after: delay, in: self.world) { self.divide(cutOff: number, seconds: seconds) }
            }
        case .powerFailsAfterDivision: self.powerFailsAfterDivision = true
        case .failover(let delay), .databaseRestart(let delay):
            self.network.atNextRequest { _ in
                self.scheduler.schedule(after: delay, in: self.world) {
                    if case .failover = fault.kind { self.database?.failOver() } else { self.database?.restart() }
                }
            }
        case .standbyAway(let seconds, let cancelsWaits):
            self.network.atNextRequest { _ in
                self.database?.standbyAwayUntil = until(seconds)
                if cancelsWaits { self.database?.cancelsWaitsUntil = until(seconds) }
            }
        case .slowDatabase(let seconds): self.database?.slowUntil = until(seconds)
        case .cutFromDatabase(let server, let seconds): self.database?.cut(server, seconds: seconds)
        case .revocationElsewhere(let hindrance, let seconds, let delay, let way):
            self.revokeElsewhere(hindrance, seconds: seconds, after: delay, way)
        case .lostRevocation(let first, let delay, let next): self.loseRevocation(first, failOverAfter: delay, next)
        case .backup: self.embedded?.makeBackup()
        case .restore(let rule): self.embedded?.restore(rule)
        case .theft(let phone, let hasPhone): self.phones[phone].attack(hasPhone: hasPhone)
        case .refreshShares: self.embedded?.refreshShares()
        case .databaseClock(let seconds, let lasts):
            self.checkClocks(step: seconds, lasts: lasts)
            self.database?.stepClock(seconds: seconds, until: until(lasts))
            self.restartStoppedServers(after: lasts)
        case .partedNetwork(let seconds):
            self.network.partedUntil = until(seconds)
            self.network.cutAll()
        case .slowNetwork(let seconds): self.network.slowUntil = until(seconds)
        case .cutConnections: self.network.cutAll()
        case .repeatedFrames(let count): self.network.repeated = count
        case .exchangedFrames(let count): self.network.exchanged = count
        case .killApp(let phone, let jobs): self.phones[phone].killApp(after: jobs)
        case .phoneDiskFails(let phone, let writes): self.phones[phone].disk.failures = writes
        case .phoneClock(let phone, let seconds): self.phones[phone].clock.offset += Int64(seconds) * 1000
        }
    }

    /// Checks that no running server follows a jump of the database's clock.
    ///
    /// Other steps of that clock in the meantime are smaller than half of the permitted difference.
    private func checkClocks(step seconds: Int, lasts: Int) {
        guard abs(seconds) > 8, lasts > 6 else { return }
        func ahead(_ server: any ServerMachine) -> Int64? {
            server.running.map { $0.server.clock.now().milliseconds - SimulatedClock.start - self.scheduler.now / 1000 }
        }
        let before = self.servers.map { (process: $0.process, ahead: ahead($0)) }
        self.scheduler.schedule(after: 6_000_000, in: self.world) {
            for (server, before) in zip(self.servers, before) where server.process === before.process {
                guard let old = before.ahead, let new = ahead(server), abs(new - old) > 4_000 else { continue }
                self.observer.report("a server follows a jump of the database's clock")
            }
        }
    }

    /// Restarts servers that have stopped although the database's clock is right again, as operators are told to do.
    private func restartStoppedServers(after seconds: Int) {
        self.scheduler.schedule(after: (Int64(seconds) + 30) * 1_000_000, in: self.world) {
            for server in self.servers where server.running?.store.lease?.isHeld == false {
                server.kill(power: false, "by an operator, since its lease has ended")
            }
        }
    }

    /// The store has the contents of an earlier time.
    ///
    /// - Parameter covered: Whether the rule was accepted only because its charge covers the loss.
    func restored(_ rule: EpochRule, from time: Int64, covered: Bool = true) {
        self.observer.restored(rule, covered: covered)
        for phone in self.phones { phone.serverRestored(from: time) }
    }

    /// Ends all faults, so that every wallet must work again.
    func heal() {
        for server in self.servers {
            (server.moduleSilentUntil, server.isSlowUntil, server.freezeBeforeAnswer) = (0, 0, nil)
            server.killAfterRecord = nil
            server.auditDisk = AuditDisk()
        }
        self.restoreSolution()
        if let server = self.embedded {
            (server.fullUntil, server.slowUntil) = (0, 0)
            (server.nextFailure, server.killAtWrite, server.failsMark) = (nil, nil, false)
        }
        self.database?.heal()
        self.restartStoppedServers(after: 0)
        (self.network.partedUntil, self.network.slowUntil) = (0, 0)
        (self.network.repeated, self.network.exchanged, self.network.lostVerdicts) = (0, 0, 0)
        for phone in self.phones { phone.disk.failures = 0 }
    }
}

/// A value that threads share.
final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    init(_ value: Value) {
        self.content = Mutex(value)
    }

    var value: Value {
        get { self.content.withLock { $0 } }
        set { self.content.withLock { $0 = newValue } }
    }
}
