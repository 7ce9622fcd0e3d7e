internal import AttestationVerifier
internal import AuditLog
internal import Foundation
internal import Lab
internal import Logging
@testable internal import RemotePINServer
internal import Statements
internal import StoreMaintenance
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore

/// The parts of a server that serves.
struct RunningServer {
    let server: RemotePINServer
    let store: any ServedStore
    let vault: KeyFileVault
}

/// The machine of a server: its folder, and its processes one after the other.
protocol ServerMachine: AnyObject, Sendable {
    var run: Simulation { get }
    /// The name in the trace.
    var name: String { get }
    var authority: LabAuthority { get }
    var generator: SeededGenerator { get set }
    var process: SimulatedProcess? { get }
    var running: RunningServer? { get }
    /// The folder of the present process; the next one gets a copy of it.
    var folder: String { get }
    /// Microseconds.
    var moduleSilentUntil: Int64 { get set }
    var isSlowUntil: Int64 { get set }
    /// The process ends this many jobs after the next entry of its audit log is on disk.
    var killAfterRecord: (jobs: Int, power: Bool)? { get set }
    /// The moment of its start at which the next process is killed.
    var killAtStart: (moment: Fault.StartMoment, power: Bool)? { get set }
    /// The failures of the disk with the audit log.
    var auditDisk: AuditDisk { get set }
    /// Freezes the process after its store's next answer to a wallet, before it opens shares.
    var freezeBeforeAnswer: (() -> Void)? { get set }

    func start()

    /// Kills the process and starts another one later.
    ///
    /// - Parameter power: The machine loses its power, and the disk what was not synced.
    func kill(power: Bool, _ reason: String)

    /// Runs a write that blocks.
    func write(_ work: @escaping () -> Void)

    /// Ends the process inside a function that must not return.
    func die(_ reason: String, power: Bool) -> Never
}

extension ServerMachine {
    var scheduler: Scheduler { self.run.scheduler }

    func parts(
        _ store: any ServedStore,
        _ vault: KeyFileVault,
        _ audit: AuditLog,
        clock: any WallClock
    ) -> RemotePINServer.Parts {
        let android = AndroidApp(package: LabApp.androidPackage, signatureDigests: [LabApp.androidSigningDigest])
        let (androidRoot, appleRoot) = (self.authority.androidRootCertificate, self.authority.appleRootCertificate)
        let verifier = EvidenceVerifier(
            policy: AttestationPolicy(
                android: AndroidPolicy(apps: [android]),
                apple: ApplePolicy(apps: [AppleApp(id: LabApp.iOSAppID)])
            ),
            androidAnchors: [TrustAnchor(certificate: androidRoot)].compactMap(\.self),
            appleAnchors: [TrustAnchor(certificate: appleRoot)].compactMap(\.self)
        )
        var parts = RemotePINServer.Parts(
            rules: ServiceRules(attempts: self.run.plan.policy),
            clock: clock,
            store: HinderedStore(store: store) {
                guard let freeze = self.freezeBeforeAnswer.take() else { return await self.delay() }
                freeze()
                // The current job ends here, so that shares are opened after the freeze.
                await self.scheduler.wait(1)
            },
            lease: store.lease,
            vault: FailingVault(
                vault,
                self.scheduler,
                silentUntil: { self.moduleSilentUntil },
                delay: { await self.delay() }
            ),
            attestations: verifier,
            audit: audit,
            log: Logger(label: "simulated") { _ in SwiftLogNoOpLogHandler() },
            receiptKeys: { vault.receiptKeys(upTo: $0) }
        )
        parts.time = self.run.time
        return parts
    }

    /// Returns the signer of receipts.
    ///
    /// In the runs with the later faults, it fails while the module is silent.
    func receiptSigner(of vault: KeyFileVault) -> any ReceiptSigner {
        guard Fault.hasLaterFaults(self.run.plan.seed) else { return vault.receiptSigner }
        return FailingSigner(signer: vault.receiptSigner) { self.scheduler.now < self.moduleSilentUntil }
    }

    /// Delays one call of the vault and one answer of the store in four, or all of them while the server is slow.
    private func delay() async {
        if self.scheduler.now < self.isSlowUntil {
            return await self.scheduler.wait(.random(in: 100_000...2_000_000, using: &self.generator))
        }
        guard self.generator.chance(25) else { return }
        await self.scheduler.wait(.random(in: 1_000...120_000, using: &self.generator))
    }

    /// Opens the audit log and compares it with the store, as the server's program does.
    ///
    /// - Parameter epoch: The store's epoch.
    func openAudit(
        _ vault: KeyFileVault,
        of store: any ServedStore,
        clock: any WallClock,
        epoch: Int,
        server: String? = nil
    ) async throws -> AuditLog {
        var parts = AuditLog.Parts(
            path: "\(self.folder)/audit.log",
            vault: vault,
            clock: clock,
            epoch: epoch,
            onNewest: { store.announce(StoredAuditMark($0)) },
            onFatal: { self.auditEnds($0) }
        )
        parts.generation = { store.generation }
        parts.onWritten = { entry, _ in self.run.observer.recorded(entry, by: self.name) }
        let process = self.process
        parts.onDisk = { work in
            self.write {
                self.writeRecord(work)
                guard let kill = self.killAfterRecord.take() else { return }
                process?.plan(after: kill.jobs) { self.kill(power: kill.power, "after an entry of its audit log") }
            }
        }
        parts.server = server
        parts.opensEpoch = store.isShared
        parts.last = try await store.auditMark().map { AuditMark($0) }
        var check = StartCheck(after: parts.last)
        if !AuditLog.exists(at: parts.path) {
            guard parts.last == nil else { throw Violation("the audit log is lost") }
            try await AuditLog.create(parts)
        }
        var recorded = RecordedEnds()
        let audit = try await AuditLog.open(parts) {
            check.read($0)
            recorded.read($0)
            self.run.observer.found($0)
        }
        try await check.check(store)
        try await audit.endUnended { try await StartCheck.carryOut($0, on: store) }
        if try await !store.inUse(self.run.observer.revokedWallets).isEmpty {
            self.run.observer.report("a confirmed revocation is not in force after the start")
        }
        if try await !store.inUse(recorded.ended).isEmpty {
            self.run.observer.report("a revocation on record is not in force after the start")
        }
        if try await !store.unblocked(recorded.blocked).isEmpty {
            self.run.observer.report("a permanent block on record is not in force after the start")
        }
        return audit
    }

    /// Accepts connections from now on.
    func accept(_ server: RemotePINServer, in process: SimulatedProcess) {
        process.onKill = { process in self.run.network.listeners.removeAll { $0.process === process } }
        self.run.network.listeners.append(
            Network.Listener(process: process) { link in
                let connection = try link.connectServer()
                Task { await server.serve(connection) }
            }
        )
    }

    /// Runs the timers less often than in production, where they run every five seconds.
    ///
    /// They only clean up: calls reject what has expired.
    func repeatTimers(_ server: RemotePINServer) {
        Task {
            while true {
                await server.runDueTimers()
                await self.scheduler.wait(3_600_000_000)
            }
        }
    }
}
