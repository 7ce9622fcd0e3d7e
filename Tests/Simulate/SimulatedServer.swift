internal import Foundation
internal import HostSystem
internal import Lab
@testable import RemotePINServer
internal import StoreMaintenance
@testable import Vault
internal import Vocabulary
internal import WalletStore

/// The machine of a server with SQLite: its disk, its processes one after the other, and the operator who repairs it.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class SimulatedServer: ServerMachine, @unchecked Sendable {
    /// The files in which a bit may flip.
    enum FileName: String, Hashable, Sendable {
        case log = "data/wallets.db-wal"
        case audit = "audit.log"
        case mark = "data/wallets.db-mark"
        case store = "data/wallets.db"

        /// The files whose damage a start detects.
        static let detected: [FileName] = [.log, .audit, .mark]
    }

    let name = "server"
    let run: Simulation
    let authority: LabAuthority
    var generator: SeededGenerator
    let clock: SimulatedClock
    private(set) var process: SimulatedProcess?
    private(set) var running: RunningServer?

    private var thread: StoreThread?
    private var starts = 0
    var folder: String
    /// The mark of the store when the process began, which is synced.
    private var syncedMark: [UInt8] = []
    /// The contents of files before a bit flipped.
    private var beforeFlip: [String: [UInt8]] = [:]
    var hasFlippedBit: Bool { !self.beforeFlip.isEmpty }
    var backup: Backup?
    private var turnIsScheduled = false
    /// A write of the audit log on its way to the disk.
    private var auditWrite: (() -> Void)?

    /// The times until which faults last, in microseconds.
    var fullUntil: Int64 = 0
    var slowUntil: Int64 = 0
    var moduleSilentUntil: Int64 = 0
    var isSlowUntil: Int64 = 0
    var freezeBeforeAnswer: (() -> Void)?
    var killAfterRecord: (jobs: Int, power: Bool)?
    var killAtStart: (moment: Fault.StartMoment, power: Bool)?
    var auditDisk = AuditDisk()
    /// Whether the next write of the mark fails.
    var failsMark = false
    /// The stage at whose beginning the next restore is killed, before the operator repeats it.
    var killAtStage: Int?
    /// The next write (true) or sync (false) fails.
    var nextFailure: Bool?
    /// The process ends at this write, counted from now.
    var killAtWrite: (writes: Int, power: Bool)?

    init(_ run: Simulation, authority: LabAuthority, folder: String) throws {
        self.run = run
        self.authority = authority
        self.generator = SeededGenerator(seed: run.plan.seed, "server")
        self.clock = SimulatedClock(run.scheduler)
        self.folder = "\(folder)/server-0"
        try DurableFile.makeFolder(self.folder)
        try DurableFile.makeFolder("\(self.folder)/data")
        try KeyFileVault.create(at: "\(self.folder)/vault.key")
    }

    // MARK: Start

    func start() {
        self.starts += 1
        self.auditWrite = nil
        self.turnIsScheduled = false
        let process = SimulatedProcess("server", self.scheduler)
        self.process = process
        self.run.observer.note("server", "starts")
        if let kill = self.killAtStart.take() {
            switch kill.moment {
            case .afterJobs(let jobs): process.plan(after: jobs) { self.kill(power: kill.power, "during its start") }
            case .atWrite(let writes): self.killAtWrite = (writes, kill.power)
            }
        }
        self.scheduler.enter(process) { Task { await self.serve(process) } }
    }

    private func serve(_ process: SimulatedProcess) async {
        do {
            let folder = self.folder
            let vault = try await KeyFileVault("\(folder)/vault.key")
            let store = try await self.openStore(vault)
            let epoch = try await store.epochs().count + 1
            let audit = try await self.openAudit(vault, of: store, clock: self.clock, epoch: epoch)
            let server = try await RemotePINServer(self.parts(store, vault, audit, clock: self.clock))
            self.running = RunningServer(server: server, store: store, vault: vault)
            self.accept(server, in: process)
            self.beforeFlip = [:]
            self.run.observer.note("server", "serves")
            self.repeatTimers(server)
        } catch {
            self.failed(error)
        }
    }

    private func openStore(_ vault: KeyFileVault) async throws -> SQLiteWalletStore {
        let thread = StoreThread { self.scheduleTurn() }
        self.thread = thread
        let store = try SQLiteWalletStore.open(
            folder: "\(self.folder)/data",
            key: RecordKey.derived(by: vault),
            creating: self.starts == 1,
            receipts: self.receiptSigner(of: vault),
            wake: thread,
            onFatal: { error in self.die("the store ends the process: \(error)", power: false) }
        )
        thread.started()
        self.syncedMark = SimulatedDisk.contents("\(self.folder)/\(FileName.mark.rawValue)")
        return store
    }

    /// The server does not start: a fault explains it, or it is a defect.
    private func failed(_ error: any Error) {
        self.run.observer.note("server", "does not start: \(type(of: error))")
        guard self.scheduler.now >= self.fullUntil else { return self.kill(power: false, "its disk is full") }
        guard !self.auditDisk.isFull(at: self.scheduler.now) else {
            return self.kill(power: false, "its disk rejects entries")
        }
        guard !self.beforeFlip.isEmpty else { return self.run.observer.report("the server does not start: \(error)") }
        self.kill(power: false, "the operator puts the damaged file back")
        for (name, bytes) in self.beforeFlip { try? Data(bytes).write(to: URL(filePath: "\(self.folder)/\(name)")) }
        // A store that was served since its bits flipped stays damaged.
        if self.beforeFlip[FileName.store.rawValue] != nil { self.run.observer.isDamaged = false }
        self.beforeFlip = [:]
    }

    // MARK: Disk

    private func scheduleTurn() {
        guard !self.turnIsScheduled, let process = self.process else { return }
        self.turnIsScheduled = true
        self.scheduler.schedule(after: self.diskTime, in: process) {
            self.turnIsScheduled = false
            self.thread?.turn(self.scheduler)
            AuditDisk.liftLimit()
        }
    }

    private var diskTime: Int64 {
        let isSlow = self.scheduler.now < self.slowUntil
        return .random(in: isSlow ? 500_000...8_000_000 : 500...10_000, using: &self.generator)
    }

    func write(_ work: @escaping () -> Void) {
        guard let process = self.process else { return }
        self.auditWrite = work
        self.scheduler.schedule(after: self.diskTime, in: process) {
            self.auditWrite = nil
            work()
        }
    }

    /// Decides on a write or sync of the store.
    func decide(isWrite: Bool) -> SimulatedDisk.Outcome {
        guard self.process?.isAlive == true else { return .done }
        AuditDisk.liftLimit()
        // Until the server serves, the store is also written by the thread that opens it.
        if isWrite, let kill = self.killAtWrite, self.thread?.isCurrent == true || self.running == nil {
            guard kill.writes > 0 else {
                self.killAtWrite = nil
                guard self.thread?.isCurrent == true else { self.die("while it opens its store", power: kill.power) }
                self.killInCommit(power: kill.power)
            }
            self.killAtWrite = (kill.writes - 1, kill.power)
        }
        if isWrite, self.scheduler.now < self.fullUntil { return .full }
        if let failure = self.nextFailure, failure == isWrite, self.thread?.isCurrent == true {
            self.nextFailure = nil
            return .failed
        }
        if !isWrite, self.failsMark, self.running != nil, self.thread?.isCurrent == true {
            // The mark is written after the sync of a commit, and before any other write.
            AuditDisk.limit(to: 0)
        }
        return .done
    }

    /// Stops the store's thread, and kills the process a moment later, in which its other threads go on.
    private func killInCommit(power: Bool) -> Never {
        guard let thread = self.thread else { preconditionFailure("the store's thread commits") }
        let delay = Int64.random(in: 0...200_000, using: &self.generator)
        self.scheduler.schedule(after: delay, in: self.run.world) { self.kill(power: power, "in a commit") }
        thread.stop()
    }

    // MARK: End

    func die(_ reason: String, power: Bool) -> Never {
        let isOnThread = self.thread?.isCurrent == true
        let thread = self.thread
        if self.failsMark, reason.contains("attempts could go unnoticed") {
            self.failsMark = false
            self.run.observer.note("server", "cannot write its mark")
        }
        self.kill(power: power, reason)
        if isOnThread, let thread { thread.stop() }
        self.run.neverReturn()
    }

    func kill(power: Bool, _ reason: String) { self.kill(power: power, reason, flipping: nil) }

    func kill(power: Bool, _ reason: String, flipping flipped: FileName?) {
        guard let process = self.process, process.isAlive else { return }
        AuditDisk.liftLimit()
        self.run.observer.note("server", "\(power ? "loses its power" : "is killed"): \(self.named(reason))")
        process.kill()
        self.running = nil
        self.run.observer.serverEnded()
        self.killAtWrite = nil
        self.copyFiles(power: power)
        if let flipped { self.flip(flipped) }
        let delay = Int64.random(in: 500_000...90_000_000, using: &self.generator)
        self.scheduler.schedule(after: delay, in: self.run.world) { self.start() }
    }

    /// The text without the name of the run's folder, which is random.
    private func named(_ text: String) -> String { text.replacing(self.run.folder, with: "") }

    /// Copies the files to the folder of the next process, in the state that a crash leaves.
    private func copyFiles(power: Bool) {
        let (old, new) = (self.folder, "\(self.run.folder)/server-\(self.starts)")
        let auditLength = SimulatedDisk.contents("\(old)/audit.log").count
        // A write of the audit log that was not answered may have happened, in part.
        if let work = self.auditWrite.take(), self.generator.chance(60), let process = self.process {
            self.scheduler.impersonate(process, work)
        }
        let lost =
            power
            ? self.run.disk.contentsAfterPowerFailure(in: old, using: &self.generator) : [:]
        try? FileManager.default.createDirectory(atPath: "\(new)/data", withIntermediateDirectories: true)
        for name in [
            "vault.key", "audit.log", "data/wallets.db", "data/wallets.db-wal",
            "data/wallets.db-mark",
        ] {
            guard FileManager.default.fileExists(atPath: "\(old)/\(name)") else { continue }
            var bytes = lost["\(old)/\(name)"] ?? SimulatedDisk.contents("\(old)/\(name)")
            // The mark is written after each commit, and not synced.
            if power, name == FileName.mark.rawValue, self.generator.chance(50) { bytes = self.syncedMark }
            if name == "audit.log", bytes.count > auditLength, self.generator.chance(70) {
                let kept =
                    auditLength + (bytes.count - auditLength) * Int.random(in: 0...99, using: &self.generator) / 100
                bytes.removeLast(bytes.count - kept)
            }
            try? Data(bytes).write(to: URL(filePath: "\(new)/\(name)"))
        }
        unsafe chmod("\(new)/vault.key", 0o600)
        self.folder = new
    }

    private func flip(_ name: FileName) {
        let path = "\(self.folder)/\(name.rawValue)"
        var bytes = SimulatedDisk.contents(path)
        guard !bytes.isEmpty else { return }
        self.beforeFlip[name.rawValue] = bytes
        // Most pages of the database are seldom read.
        for _ in 0..<(name == .store ? 40 : 1) {
            // Of the whole file, so that the place does not depend on its exact length.
            let place = bytes.count * Int.random(in: 0...9_999, using: &self.generator) / 10_000
            bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &self.generator)
        }
        self.run.observer.note("server", "a bit of \(name.rawValue) flips")
        if name == .store {
            self.run.observer.isDamaged = true
            // A start that fails may have moved the log into the database.
            for other in [FileName.log, .mark] {
                self.beforeFlip[other.rawValue] = SimulatedDisk.contents("\(self.folder)/\(other.rawValue)")
            }
        }
        try? Data(bytes).write(to: URL(filePath: path))
    }
}
