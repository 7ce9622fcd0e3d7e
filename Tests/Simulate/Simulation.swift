internal import Dispatch
internal import Foundation
internal import HistoryChecker
internal import HostSystem
internal import Lab
internal import RemotePINServer
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// One run: a server, phones with their owners, the network and the faults of a plan, until the end of its last day.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class Simulation: @unchecked Sendable {
    /// The result of a run.
    struct Report: Sendable {
        var violation: String?
        var hash: UInt64
        var lines: [String]
        var jobs: Int
        var unlocks: Int
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
    private(set) var server: SimulatedServer?
    private var phones: [Phone] = []
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
        // The clock of the server may be wrong by any of its steps.
        let steps = plan.faults.reduce(0) { sum, fault in
            if case .serverClock(let seconds) = fault.kind { sum + abs(seconds) } else { sum }
        }
        let rules = CheckerRules(policy: plan.policy, clockTolerance: .milliseconds(50 + 1000 * steps))
        self.observer = Observer(self.scheduler, rules)
        self.network = Network(seed: plan.seed, self.scheduler, self.observer)
        self.world = SimulatedProcess("world", self.scheduler)
        let server = try SimulatedServer(self, authority: authority, folder: folder)
        self.server = server
        self.disk.decide = { server.decide(isWrite: $0) }
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
                result.value = Report(violation: "cannot begin: \(error)", hash: 0, lines: [], jobs: 0, unlocks: 0)
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
        self.server?.start()
        for fault in self.plan.faults {
            self.scheduler.schedule(after: fault.time, in: self.world) { self.apply(fault) }
        }
        for (phone, visits) in zip(self.phones, self.plan.visits) { phone.begin(visits) }
        self.scheduler.run { self.isOver }
    }

    private var isOver: Bool { self.observer.violation != nil || self.phones.allSatisfy(\.isDone) }

    /// Continues the run inside a function that must not return.
    func neverReturn() -> Never {
        self.scheduler.run { self.isOver }
        self.finish()
        DispatchSemaphore(value: 0).wait()
        preconditionFailure("nothing signals the semaphore")
    }

    private func finish() {
        if self.observer.violation == nil, !self.phones.allSatisfy(\.isDone) {
            self.observer.report("the run has come to a standstill")
        }
        self.result.value = Report(
            violation: self.observer.violation?.description,
            hash: self.observer.trace.hash,
            lines: self.observer.trace.lines,
            jobs: self.scheduler.jobCount,
            unlocks: self.phones.reduce(0) { $0 + $1.unlocks }
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
        guard let server = self.server else { return }
        self.observer.note("fault", "\(fault.kind)")
        func until(_ seconds: Int) -> Int64 { self.scheduler.now + Int64(seconds) * 1_000_000 }
        switch fault.kind {
        case .killServer(let jobs, let power):
            self.network.atNextRequest {
                server.process?.plan(after: jobs) { server.kill(power: power, "by plan") }
            }
        case .killServerAtWrite(let writes, let power):
            self.network.atNextRequest { server.killAtWrite = (writes, power) }
        case .lostVerdicts(let count): self.network.lostVerdicts = count
        case .flipBit(let name): server.kill(power: false, "by plan", flipping: name)
        case .diskFull(let seconds): server.fullUntil = until(seconds)
        case .diskFails(let isWrite): server.nextFailure = isWrite
        case .slowDisk(let seconds): server.slowUntil = until(seconds)
        case .vaultFails(let seconds): server.vaultFailsUntil = until(seconds)
        case .serverClock(let seconds): server.clock.offset += Int64(seconds) * 1000
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

    /// Ends all faults, so that every wallet must work again.
    func heal() {
        guard let server = self.server else { return }
        (server.fullUntil, server.slowUntil, server.vaultFailsUntil) = (0, 0, 0)
        (server.nextFailure, server.killAtWrite) = (nil, nil)
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
