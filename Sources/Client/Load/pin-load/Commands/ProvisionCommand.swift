import ArgumentParser
internal import Glibc
internal import HostSystem
internal import LoadEngine
internal import Synchronization
internal import Transport
internal import Wire

struct ProvisionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provision",
        abstract: "Register wallets for load tests.",
        discussion: """
            Each wallet gets a hardware key, evidence signed by the lab's authority, a PIN and a registration. The \
            server verifies them like those of a phone. After Ctrl-C, a crash or a restart of the server, the same \
            command continues. A larger number adds the missing wallets.

            EXAMPLES

              pin-load provision --lab lab --wallets 1000 --out wallets
              pin-load provision --lab lab --wallets 1M --out wallets --ios 50% \\
                --connections 128

            FILE

            The file has a header of 8,192 bytes and 64 bytes per wallet: 64 MB for 1M wallets. It is allocated at the \
            start. It is as secret as keys (mode 0600); one process can use it at a time. A crash loses at most the \
            registrations in flight.

            The server deletes a registration without a session after one day (enrollment.unopened-lifetime, up to \
            30d). Run a load before that.
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(help: ArgumentHelp("Wallets in the file: 2000, 10k or 1M.", valueName: "n"), transform: OptionText.count)
    var wallets: Int

    @Option(name: .customLong("out"), help: ArgumentHelp("Wallet file.", valueName: "file"), completion: .file())
    var path: String

    @Option(
        help: ArgumentHelp("Share of iPhones; the others are Android phones. (default: 30%)", valueName: "share"),
        transform: Self.share
    )
    var ios: PlatformShare = .standard

    @Option(help: ArgumentHelp("Concurrent connections, 1 to 1000.", valueName: "n"))
    var connections = 64

    @Option(
        help: ArgumentHelp("Timeout of a connection and of an answer. (default: 10s)", valueName: "time"),
        transform: OptionText.time
    )
    var timeout: Duration = .seconds(10)

    @Option(
        help: ArgumentHelp("Maximum wait for a server that stopped answering. (default: 1m)", valueName: "time"),
        transform: OptionText.time
    )
    var patience: Duration = .seconds(60)

    func validate() throws {
        guard (1...1000).contains(self.connections) else { throw ValidationError("--connections must be 1 to 1000.") }
        guard Fleet.allowedCounts.contains(self.wallets) else { throw ValidationError("--wallets must be 1 to 100M.") }
    }

    private static func share(_ text: String) throws -> PlatformShare {
        guard let share = PlatformShare(text) else { throw ValidationError("a share must be 0% to 100%") }
        return share
    }

    func run() async throws {
        try await reportingFailure {
            let target = try self.target.target()
            var options = FleetProvisioner.Options()
            options.connections = self.connections
            options.share = self.ios
            options.timeout = self.timeout
            options.patience = self.patience
            do {
                // Fail early, before the file exists. Without the authority, no wallets can be registered.
                try target.requireAuthority()
                let fleet = try self.fleet(for: target)
                let provisioning = try FleetProvisioner(fleet, goal: self.wallets, at: target, options: options)
                try await self.run(provisioning, fleet, target)
            } catch let problem as Target.Problem {
                throw PinLoadFailure(.usage, problem.description)
            } catch let error as FleetError {
                throw PinLoadFailure(error)
            }
        }
    }

    /// Opens the file if an earlier call created it; otherwise, creates it.
    private func fleet(for target: Target) throws(FleetError) -> Fleet {
        guard DurableFile.exists(self.path) else {
            return try Fleet.create(at: self.path, wallets: self.wallets, fingerprint: target.fingerprint)
        }
        let fleet = try Fleet.resume(self.path, wallets: self.wallets, for: target.fingerprint)
        if fleet.tornCount > 0 {
            StandardStreams.writeError(
                "pin-load: \(NumberText.count(fleet.tornCount)) damaged records; these wallets are registered again\n"
            )
        }
        return fleet
    }

    private func run(_ provisioning: FleetProvisioner, _ fleet: Fleet, _ target: Target) async throws {
        let start = provisioning.progress
        if start.left > 0 {
            let present = start.before == 0 ? "" : "; \(NumberText.count(start.before)) exist already"
            StandardStreams.writeError(
                "registering \(NumberText.count(start.left)) wallets at \(target.address)\(present)\n"
            )
        }
        let display = ProgressDisplay()
        let meter = Mutex(RateMeter())
        meter.withLock { $0.note(0, at: .zero) }
        do throws(FleetFailure) {
            try await display.run {
                let progress = provisioning.progress
                return meter.withLock { meter in
                    meter.note(progress.registered, at: progress.elapsed)
                    return ProgressText(progress, meter)
                }
            } stop: {
                provisioning.stop()
            } _: { () throws(FleetFailure) in
                try await provisioning.run()
            }
            try mapError(fleet.close(), to: FleetFailure.fleet)
        } catch {
            throw PinLoadFailure(error, held: provisioning.progress.heldText)
        }
        let isInterrupted = display.isStopping && provisioning.progress.left > 0
        StandardStreams.writeOutput(
            "\(self.path): \(provisioning.progress.summary)\n"
                + (isInterrupted ? "Interrupted; run the same command to continue.\n" : "")
        )
        if isInterrupted { throw PinLoadStatus.interrupted.exitCode }
    }
}

extension ProgressText {
    fileprivate init(_ progress: ProvisioningProgress, _ meter: RateMeter) {
        let percent = Int(100 * Double(progress.held) / Double(max(1, progress.total)))
        let counts = "\(NumberText.count(progress.held)) of \(NumberText.count(progress.total)) wallets (\(percent)%)"
        let left = meter.time(for: progress.left).map { ", \($0.clockText) left" } ?? ""
        self.init(
            ["\(counts), \(NumberText.rate(meter.perSecond))\(left)"],
            problems: [progress.trouble.map { "waiting: \($0)" } ?? ""]
        )
    }
}

extension ProvisioningProgress {
    fileprivate var heldText: String {
        "\(NumberText.count(self.held)) of \(NumberText.count(self.total)) wallets are in the file."
    }

    fileprivate var summary: String {
        guard self.registered > 0 else { return self.heldText }
        let rate = Double(self.registered) / max(0.001, self.elapsed / .seconds(1))
        let again = self.repeated > 0 ? "; \(NumberText.count(self.repeated)) sent again without an answer" : ""
        return "\(self.heldText) \(NumberText.count(self.registered)) registered now "
            + "(\(NumberText.count(self.android)) Android, \(NumberText.count(self.iOS)) iOS) in "
            + "\(self.elapsed.clockText), \(NumberText.rate(rate))\(again)."
    }
}

extension PinLoadFailure {
    /// Creates the failure for a wallet file that cannot be used.
    init(_ error: FleetError) {
        switch error {
        case .inUse: self.init(.inUse, error.description)
        // ELOOP means that the file is a symbolic link. The user has to specify another one.
        case .file(.other(_, ELOOP)): self.init(.usage, error.description)
        case .file(.diskFull), .file(.other), .countersSpent, .recordDamaged: self.init(.failed, error.description)
        case .file, .foreign, .version, .damaged, .cut, .otherServer, .empty: self.init(.usage, error.description)
        }
    }

    /// Creates the failure for a wallet that the server did not register.
    fileprivate init(_ failure: FleetFailure, held: String) {
        if case .fleet(let error) = failure {
            self.init(error)
            return
        }
        let hint =
            switch failure {
            case .connect(.refused), .connect(.timedOut), .connect(.noRoute): Self.serveHint
            case .refused(.attestationRejected):
                "\n  The server rejects the evidence; its configuration must name this authority."
            case .refused(.revoked):
                "\n  The whole solution is revoked; 'remote-pin-server admin restore solution' restores it."
            default: ""
            }
        self.init(.unavailable, "\(failure)\(hint)\n  \(held) Run the same command again to continue.")
    }

    /// A hint for when the server is not running.
    static let serveHint = "\n  Start the server first: remote-pin-server lab up DIR"
}
