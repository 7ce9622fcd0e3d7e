import Glibc
import Lab
@testable import LoadEngine
import Synchronization
import TestSupport
import Vocabulary

/// A real server of a separate lab, with wallets registered in it.
final class LoadLab: Sendable {
    let folder: TemporaryFolder
    let server: ServerProcess

    var path: String { self.folder.file("lab") }
    var walletsFile: String { self.folder.file("wallets") }

    private init(_ folder: TemporaryFolder, _ server: ServerProcess) {
        self.folder = folder
        self.server = server
    }

    /// The lab or its wallets could not be created.
    struct NotMade: Error, CustomStringConvertible {
        let output: String
        var description: String { self.output }
    }

    /// The largest allowed number of attempts, without blocks.
    static let withoutBlocks = [
        "REMOTE_PIN_PIN_ROUNDS": "16", "REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND": "16", "REMOTE_PIN_PIN_BLOCKS": "[]",
    ]

    /// Timeouts long enough that the server closes no connection on a machine that stalls.
    private static let patient = [
        "REMOTE_PIN_LIMITS_HANDSHAKE": "5m", "REMOTE_PIN_LIMITS_FRAME": "5m",
        "REMOTE_PIN_LIMITS_IDLE_WITHOUT_SESSION": "10m",
    ]

    static func start(wallets: Int, _ environment: [String: String] = [:]) async throws -> LoadLab {
        let folder = TemporaryFolder()
        let made = try await ServerProcess.run("remote-pin-server", ["init", "--lab", folder.file("lab")])
        guard made.exitCode == 0 else { throw NotMade(output: made.output) }
        let server = try await ServerProcess.start(
            ["lab", "up", folder.file("lab")],
            environment: Self.patient.merging(environment) { $1 }
        )
        let lab = LoadLab(folder, server)
        let provisioned = try await ServerProcess.run(
            "pin-load",
            ["provision", "--lab", lab.path, "--wallets", "\(wallets)", "--out", lab.walletsFile]
        )
        guard provisioned.exitCode == 0 else { throw NotMade(output: provisioned.output) }
        return lab
    }

    /// Starts the lab's server again after it has ended.
    func restart() async throws -> ServerProcess {
        try await ServerProcess.start(["lab", "up", self.path])
    }

    /// A plan with stages in text form.
    static func plan(_ stages: String, _ change: (inout LoadPlan) throws -> Void = { _ in }) throws -> LoadPlan {
        var plan = LoadPlan(try Stages(parsing: stages))
        try change(&plan)
        return plan
    }

    /// Runs a plan in this process.
    ///
    /// - Parameter areOpen: called when all sessions are open, before the run's clock starts.
    func run(
        _ plan: LoadPlan,
        at target: Target? = nil,
        events: RunEvents = RunEvents(),
        thresholds: [String] = [],
        companions: [@Sendable (RunEvents) async -> Void] = [],
        proof: Proof? = nil,
        hear: @escaping @Sendable (RunSnapshot) -> Void = { _ in },
        areOpen: @escaping @Sendable () -> Void = {}
    ) async throws -> RunResult {
        let target = try target ?? Target(lab: self.path)
        let fleet = try Fleet.open(self.walletsFile, for: target.fingerprint)
        var options = LoadRun.Options()
        options.thresholds = try thresholds.map { try Threshold(parsing: $0) }
        options.serverPID = self.server.processID
        options.companions = companions
        options.proof = proof
        var measured: MeasuredRun
        do {
            measured = try await LoadRun(plan, of: fleet, at: target, options: options, events: events).run {
                switch $0 {
                case .opening(let count, of: let all): if count == all { areOpen() }
                case .waiting: break
                case .running(let moment): hear(moment)
                }
            }
        } catch {
            try? fleet.close()
            throw error
        }
        try fleet.close()
        if let proof { measured.sections += proof.sections(for: measured.intervals) }
        return measured.result(options.thresholds)
    }

    /// Runs a plan with the server stopped from before the run's clock starts until this many intervals were
    /// reported.
    func run(_ plan: LoadPlan, stoppingServerFor count: Int) async throws -> RunResult {
        let intervals = Mutex(0)
        return try await self.run(plan) { _ in
            let reported = intervals.withLock { reported in
                reported += 1
                return reported
            }
            if reported == count { self.server.send(SIGCONT) }
        } areOpen: {
            self.server.send(SIGSTOP)
        }
    }

    /// The server's report on a wallet.
    func report(ofWallet index: Int) async throws -> String {
        try await self.admin("wallet", "show", "\(try self.walletID(of: index))", "--json").output
    }

    /// Revokes a wallet as an operator.
    func revoke(wallet index: Int) async throws {
        let run = try await self.admin("revoke", "wallet", "\(try self.walletID(of: index))")
        guard run.exitCode == 0 else { throw NotMade(output: run.output) }
    }

    private func walletID(of index: Int) throws -> WalletID {
        let fleet = try Fleet.open(self.walletsFile, for: try Target(lab: self.path).fingerprint)
        let id = try fleet[index].walletID
        try fleet.close()
        return id
    }

    private func admin(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", ["admin"] + arguments + ["--lab", self.path])
    }
}

extension MeasuredRun {
    func result(_ thresholds: [Threshold]) -> RunResult {
        RunResult(
            setting: RunSetting(
                command: ["test"],
                startMilliseconds: self.start.milliseconds,
                seed: 1,
                target: "test",
                toolBuild: "test",
                plan: [],
                machine: Machine(cpuModel: "", cores: 1, memoryBytes: 1, kernel: "")
            ),
            intervals: self.intervals,
            thresholds: thresholds,
            end: self.end,
            markers: self.markers,
            sections: self.sections,
            notes: self.notes
        )
    }
}

extension RunResult {
    /// The number of operations with this outcome, of one kind or of all.
    func count(_ outcome: Outcome, of operation: LoadEngine.Operation? = nil) -> Int {
        self.totals.figures(of: operation).outcomes[outcome] ?? 0
    }

    /// The errors that occurred, for a failed expectation.
    var errors: [Outcome: Int] { self.totals.figures().outcomes.filter(\.key.isError) }
}
