internal import AttestationVerifier
internal import AuditLog
internal import Foundation
internal import HostSystem
internal import Lab
internal import Logging
@testable import RemotePINServer
internal import StoreMaintenance
@testable import Transport
@testable import Vault
internal import Vocabulary
internal import WalletStore

/// The server's machine: its disk, its processes one after the other, and the operator who repairs it.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class SimulatedServer: @unchecked Sendable {
    /// The files whose damage a start detects.
    enum FileName: String, CaseIterable, Hashable, Sendable {
        case log = "data/wallets.db-wal"
        case audit = "audit.log"
        case mark = "data/wallets.db-mark"
    }

    let run: Simulation
    private var scheduler: Scheduler { self.run.scheduler }
    private let authority: LabAuthority
    private var generator: SeededGenerator
    let clock: SimulatedClock
    private(set) var process: SimulatedProcess?
    private(set) var running: Running?

    /// The parts of a server that serves.
    struct Running {
        let server: RemotePINServer
        let store: SQLiteWalletStore
        let vault: KeyFileVault
    }

    private var thread: StoreThread?
    private var starts = 0
    /// The folder of the present process; the next one gets a copy of it.
    private var folder: String
    /// The mark of the store when the process began, which is synced.
    private var syncedMark: [UInt8] = []
    /// The contents of files before a bit flipped.
    private var beforeFlip: [String: [UInt8]] = [:]
    private var turnIsScheduled = false
    /// A write of the audit log on its way to the disk.
    private var auditWrite: (() -> Void)?

    /// The times until which faults last, in microseconds.
    var fullUntil: Int64 = 0
    var slowUntil: Int64 = 0
    var vaultFailsUntil: Int64 = 0
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
        process.onKill = { _ in self.run.network.server = nil }
        self.process = process
        self.run.observer.note("server", "starts")
        self.scheduler.enter(process) { Task { await self.serve(process) } }
    }

    private func serve(_ process: SimulatedProcess) async {
        do {
            let folder = self.folder
            let count = SealCount(path: "\(folder)/vault.key.count") { work in self.write(work) }
            let vault = try KeyFileVault("\(folder)/vault.key", count: count)
            let store = try await self.openStore(vault)
            let audit = try await self.openAudit(vault, of: store)
            let server = try await RemotePINServer(self.parts(store, vault, audit))
            self.running = Running(server: server, store: store, vault: vault)
            self.run.network.server = process
            self.run.network.accept = { link in
                let connection = try link.connectServer()
                Task { await server.serve(connection) }
            }
            self.beforeFlip = [:]
            self.run.observer.note("server", "serves")
            self.repeatTimers(server, in: process)
        } catch {
            self.failed(error)
        }
    }

    private func parts(_ store: SQLiteWalletStore, _ vault: KeyFileVault, _ audit: AuditLog) -> RemotePINServer.Parts {
        let android = AndroidApp(package: LabApp.androidPackage, signatureDigests: [LabApp.androidSigningDigest])
        let (androidRoot, appleRoot) = (self.authority.androidRootCertificate, self.authority.appleRootCertificate)
        let verifier = EvidenceVerifier(
            policy: AttestationPolicy(
                android: AndroidPolicy(apps: [android]),
                apple: ApplePolicy(appIDs: [LabApp.iOSAppID])
            ),
            androidAnchors: [TrustAnchor(certificate: androidRoot)].compactMap(\.self),
            appleAnchors: [TrustAnchor(certificate: appleRoot)].compactMap(\.self)
        )
        var parts = RemotePINServer.Parts(
            rules: ServiceRules(attempts: self.run.plan.policy),
            clock: self.clock,
            store: store,
            vault: FailingVault(
                vault: vault,
                fails: { self.scheduler.now < self.vaultFailsUntil },
                wait: { await self.waitForVault() }
            ),
            attestations: verifier,
            audit: audit,
            log: Logger(label: "simulated") { _ in SwiftLogNoOpLogHandler() },
            receiptKeys: { vault.receiptKeys }
        )
        parts.time = self.run.time
        return parts
    }

    /// One call in four takes a while.
    private func waitForVault() async {
        guard self.generator.chance(25) else { return }
        await self.scheduler.wait(.random(in: 1_000...120_000, using: &self.generator))
    }

    private func openStore(_ vault: KeyFileVault) async throws -> SQLiteWalletStore {
        let thread = StoreThread { self.scheduleTurn() }
        self.thread = thread
        let store = try SQLiteWalletStore.open(
            folder: "\(self.folder)/data",
            key: try await RecordKey.derived(by: vault),
            creating: self.starts == 1,
            receipts: vault.receiptSigner,
            wake: thread,
            onFatal: { error in self.die("the store ends the process: \(error)") }
        )
        thread.started()
        self.syncedMark = SimulatedDisk.contents("\(self.folder)/\(FileName.mark.rawValue)")
        return store
    }

    /// Opens the audit log and compares it with the store, as the server's program does.
    private func openAudit(_ vault: KeyFileVault, of store: SQLiteWalletStore) async throws -> AuditLog {
        var parts = AuditLog.Parts(
            path: "\(self.folder)/audit.log",
            vault: vault,
            clock: self.clock,
            onNewest: { store.announce(StoredAuditMark($0)) },
            onFatal: { self.die("the audit log ends the process: \($0)") }
        )
        parts.generation = { store.generation }
        parts.onDisk = { work in self.write(work) }
        parts.last = try await store.auditMark().map { AuditMark($0) }
        var check = StartCheck(after: parts.last)
        if !AuditLog.exists(at: parts.path) {
            guard parts.last == nil else { throw Violation("the audit log is lost") }
            try await AuditLog.create(parts)
        }
        let audit = try await AuditLog.open(parts) { check.read($0) }
        _ = try await check.adoptRecords(of: store, in: audit)
        try await check.check(store)
        try await audit.endUnended { try await StartCheck.carryOut($0, on: store) }
        return audit
    }

    /// Runs the timers less often than in production, where they run every five seconds.
    ///
    /// They only clean up: calls reject what has expired.
    private func repeatTimers(_ server: RemotePINServer, in process: SimulatedProcess) {
        Task {
            while true {
                await server.runDueTimers()
                await self.scheduler.wait(3_600_000_000)
            }
        }
    }

    /// The server does not start: a fault explains it, or it is a defect.
    private func failed(_ error: any Error) {
        self.run.observer.note("server", "does not start: \(type(of: error))")
        guard self.scheduler.now >= self.fullUntil else { return self.kill(power: false, "its disk is full") }
        guard self.scheduler.now >= self.vaultFailsUntil else { return self.kill(power: false, "its vault fails") }
        guard !self.beforeFlip.isEmpty else { return self.run.observer.report("the server does not start: \(error)") }
        self.kill(power: false, "the operator puts the damaged file back")
        for (name, bytes) in self.beforeFlip { try? Data(bytes).write(to: URL(filePath: "\(self.folder)/\(name)")) }
        self.beforeFlip = [:]
    }

    // MARK: Disk

    private func scheduleTurn() {
        guard !self.turnIsScheduled, let process = self.process else { return }
        self.turnIsScheduled = true
        self.scheduler.schedule(after: self.diskTime, in: process) {
            self.turnIsScheduled = false
            self.thread?.turn(self.scheduler)
        }
    }

    private var diskTime: Int64 {
        let isSlow = self.scheduler.now < self.slowUntil
        return .random(in: isSlow ? 500_000...8_000_000 : 500...10_000, using: &self.generator)
    }

    /// Runs a write that blocks.
    private func write(_ work: @escaping () -> Void) {
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
        if isWrite, let kill = self.killAtWrite, self.thread?.isCurrent == true {
            guard kill.writes > 0 else {
                self.killAtWrite = nil
                self.die("killed in a commit", power: kill.power)
            }
            self.killAtWrite = (kill.writes - 1, kill.power)
        }
        if isWrite, self.scheduler.now < self.fullUntil { return .full }
        if let failure = self.nextFailure, failure == isWrite, self.thread?.isCurrent == true {
            self.nextFailure = nil
            return .failed
        }
        return .done
    }

    // MARK: End

    /// Ends the process inside a function that must not return.
    private func die(_ reason: String, power: Bool = false) -> Never {
        let isOnThread = self.thread?.isCurrent == true
        let thread = self.thread
        self.kill(power: power, reason)
        if isOnThread, let thread { thread.stop() }
        self.run.neverReturn()
    }

    /// Kills the process and starts another one later.
    ///
    /// - Parameter power: The machine loses its power, and the disk what was not synced.
    func kill(power: Bool, _ reason: String, flipping flipped: FileName? = nil) {
        guard let process = self.process, process.isAlive else { return }
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
            "vault.key", "vault.key.count", "audit.log", "data/wallets.db", "data/wallets.db-wal",
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
        // Of the whole file, so that the place does not depend on its exact length.
        let place = bytes.count * Int.random(in: 0...9_999, using: &self.generator) / 10_000
        bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &self.generator)
        self.run.observer.note("server", "a bit of \(name.rawValue) flips")
        try? Data(bytes).write(to: URL(filePath: path))
    }
}
