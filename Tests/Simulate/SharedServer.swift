internal import AuditLog
internal import Foundation
internal import HostSystem
internal import Lab
internal import PostgreSQLClient
internal import PostgreSQLStore
@testable internal import RemotePINServer
internal import StoreMaintenance
@testable internal import Vault
internal import Vocabulary
internal import WalletStore

/// The machine of one of two servers with PostgreSQL.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class SharedServer: ServerMachine, @unchecked Sendable {
    private static let files = ["vault.key", "audit.log", "audit.log.commits"]

    let run: Simulation
    let authority: LabAuthority
    var generator: SeededGenerator
    private let number: Int
    /// The database that the store's address leads to.
    var database: SimulatedDatabase
    private(set) var process: SimulatedProcess?
    private(set) var running: RunningServer?
    private(set) var folder: String
    var moduleSilentUntil: Int64 = 0
    var isSlowUntil: Int64 = 0
    var freezeBeforeAnswer: (() -> Void)?
    var killAfterRecord: (jobs: Int, power: Bool)?
    var killAtStart: (moment: Fault.StartMoment, power: Bool)?
    var auditDisk = AuditDisk()
    private var starts = 0
    private let root: String

    var name: String { "server \(self.number + 1)" }
    /// The name under which the store knows the server.
    var nameInStore: String { "server-\(self.number + 1)" }

    /// - Parameter number: The server's number, from 0.
    init(
        _ number: Int,
        _ run: Simulation,
        _ database: SimulatedDatabase,
        _ authority: LabAuthority,
        folder: String
    ) throws {
        (self.run, self.number, self.database, self.authority) = (run, number, database, authority)
        self.generator = SeededGenerator(seed: run.plan.seed, "server \(number)")
        self.root = "\(folder)/server-\(number)"
        self.folder = "\(self.root)-0"
        try DurableFile.makeFolder(self.folder)
        try FileManager.default.copyItem(atPath: "\(folder)/vault.key", toPath: "\(self.folder)/vault.key")
    }

    /// Creates the key that all servers have.
    static func createVault(in folder: String) throws { try KeyFileVault.create(at: "\(folder)/vault.key") }

    func start() {
        guard !self.run.isOpeningEpoch else {
            return self.scheduler.schedule(after: 1_000_000, in: self.run.world) { self.start() }
        }
        self.starts += 1
        let process = SimulatedProcess(self.name, self.scheduler)
        self.process = process
        self.run.observer.note(self.name, "starts")
        if let kill = self.killAtStart.take(), case .afterJobs(let jobs) = kill.moment {
            process.plan(after: jobs) { self.kill(power: kill.power, "during its start") }
        }
        self.scheduler.enter(process) { Task { await self.serve(process) } }
    }

    private func serve(_ process: SimulatedProcess) async {
        do {
            let vault = try await self.openVault()
            var parts = try await self.storeParts(vault)
            parts.machine = .simulated(process, server: self.number, in: self.run) { self.database }
            parts.onEpochEnd = {
                self.scheduler.schedule(after: 1, in: self.run.world) { self.epochEnded(process) }
            }
            if self.database.isEmpty {
                // An operator creates the store before the first start.
                guard self.number == 0 else { return self.kill(power: false, "there is no store yet") }
                try await PostgreSQLWalletStore.create(parts)
            }
            let store = try await PostgreSQLWalletStore.open(parts)
            try await store.takeLease()
            guard let clock = store.lease?.clock else { throw Violation("the store has a lease") }
            let epoch = try await store.epochs().count + 1
            let audit: AuditLog
            do {
                audit = try await self.openAudit(vault, of: store, clock: clock, epoch: epoch, server: parts.server)
            } catch let error as OlderStore {
                try await store.noteLostCommits()
                throw error
            }
            let server = try await RemotePINServer(self.parts(store, vault, audit, clock: clock))
            await self.recordStart(in: audit, of: store)
            self.running = RunningServer(server: server, store: store, vault: vault)
            self.accept(server, in: process)
            self.run.observer.note(self.name, "serves")
            self.repeatTimers(server)
        } catch {
            self.failed(error)
        }
    }

    /// Records the start.
    ///
    /// As in the server's program, the server serves even if this fails.
    private func recordStart(in audit: AuditLog, of store: PostgreSQLWalletStore) async {
        do {
            let servers = try? await store.servers().map(\.name)
            try await audit.append(.started, by: .server, .done(of: nil, result: ""), servers: servers)
            try await store.keepAuditMark()
        } catch {
            self.run.observer.note(self.name, "does not record its start")
        }
    }

    func openVault() async throws -> KeyFileVault { try await KeyFileVault("\(self.folder)/vault.key") }

    func storeParts(_ vault: KeyFileVault) async throws -> StoreParts {
        var parts = StoreParts(
            target: PostgreSQLTarget(address: "simulated"),
            server: self.nameInStore,
            key: RecordKey.derived(by: vault),
            receipts: self.receiptSigner(of: vault)
        )
        parts.policy = ["attempts": "\(self.run.plan.policy)"]
        parts.commitMark = CommitMark.path(ofAuditLog: "\(self.folder)/audit.log")
        let (scheduler, drift) = (self.scheduler, self.run.plan.clockDrifts[self.number])
        parts.elapsed = { .seconds(1000) + .microseconds(scheduler.now + scheduler.now * drift / 1_000_000) }
        parts.uptime = parts.elapsed
        parts.program = "simulated"
        parts.vaultKeys = { vault.versions.compactMap { vault.name(of: $0) } }
        return parts
    }

    /// The server does not start: its database may be away, or it is a defect.
    private func failed(_ error: any Error) {
        self.run.observer.note(self.name, "does not start: \(type(of: error))")
        if self.auditDisk.isFull(at: self.scheduler.now) { return self.kill(power: false, "its disk rejects entries") }
        switch error {
        case PostgreSQLStoreOpenError.unreachable, PostgreSQLStoreOpenError.nameInUse, is StoreError:
            self.kill(power: false, "its database is away")
        case PostgreSQLStoreOpenError.lostCommits, is OlderStore:
            self.run.openEpochSoon()
        default:
            self.run.observer.report("\(self.name) does not start: \(error)", inLoss: true)
        }
    }

    /// Ends a process that serves an epoch before the present one, as the server's program does.
    private func epochEnded(_ process: SimulatedProcess) {
        guard self.process === process else { return }
        self.kill(power: false, "another epoch was opened")
    }

    /// The newest epoch in the audit log, and the highest number of commits that an entry of it states.
    var recorded: (epoch: Int, commits: UInt64) {
        let found = Box((epoch: 0, commits: UInt64(0)))
        let failure = self.scheduler.outside {
            let vault = try await self.openVault()
            let logs = try await ServerLogs(at: ["\(self.folder)/audit.log"], known: [:], vault: vault)
            if let (epoch, generation) = logs.servers.first?.ofEpoch { found.value = (epoch, generation) }
        }
        if let failure { self.run.observer.report("the audit log of \(self.name) cannot be read: \(failure)") }
        return found.value
    }

    /// The machine loses its power, and its mark becomes that beside a copy of the audit log.
    func losePower(markOf log: String) {
        self.kill(power: true, "by plan")
        let (mark, copied) = (CommitMark.path(ofAuditLog: "\(self.folder)/audit.log"), CommitMark.path(ofAuditLog: log))
        try? FileManager.default.removeItem(atPath: mark)
        try? FileManager.default.copyItem(atPath: copied, toPath: mark)
    }

    func write(_ work: @escaping () -> Void) {
        guard let process = self.process else { return }
        self.scheduler.schedule(after: .random(in: 500...10_000, using: &self.generator), in: process, work)
    }

    func die(_ reason: String, power: Bool) -> Never {
        self.kill(power: power, reason)
        self.run.neverReturn()
    }

    func kill(power: Bool, _ reason: String) {
        guard let process = self.process, process.isAlive else { return }
        AuditDisk.liftLimit()
        self.run.observer.note(self.name, "is killed: \(reason.replacing(self.run.folder, with: ""))")
        process.kill()
        self.running = nil
        self.database.processEnds(process)
        let new = "\(self.root)-\(self.starts)"
        try? FileManager.default.createDirectory(atPath: new, withIntermediateDirectories: true)
        for name in Self.files where FileManager.default.fileExists(atPath: "\(self.folder)/\(name)") {
            try? FileManager.default.copyItem(atPath: "\(self.folder)/\(name)", toPath: "\(new)/\(name)")
        }
        self.folder = new
        let delay = Int64.random(in: 500_000...20_000_000, using: &self.generator)
        self.scheduler.schedule(after: delay, in: self.run.world) { self.start() }
    }
}
