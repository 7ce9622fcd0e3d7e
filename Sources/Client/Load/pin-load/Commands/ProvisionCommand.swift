import ArgumentParser
internal import Glibc
internal import HostSystem
internal import LoadFleet
internal import LoadPlan
internal import ConfigText
internal import Transport
internal import Wire

/// Registers wallets, and keeps what a run needs of them in a file.
struct ProvisionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provision",
        abstract: "Register wallets for real, as fast as the server takes them.",
        discussion: """
            Each wallet has a hardware key, evidence by the lab's authority, a PIN and its own registration; the server \
            checks all of it as it does a phone's. What is interrupted, by Ctrl-C, a crash or a server that restarts, goes \
            on where it was when the same command is given again. With a larger number it adds the missing ones.

            EXAMPLES

              pin-load provision --lab lab --wallets 1000 --out wallets
              pin-load provision --lab lab --wallets 1M --out wallets --ios 50% \\
                --connections 128

            THE FILE

            Keys, salts and PINs come from one seed in its header, 8,192 bytes. A wallet takes 64 bytes more: its id 16, \
            the check of its share 16, its App Attest counter 4, the number of its PIN 4, the history of its attempts 16, \
            its state and a checksum 8. So

                  1,000 wallets are      72,192 bytes
              1,000,000 wallets are  64,008,192 bytes
             10,000,000 wallets are 640,008,192 bytes

            on the disk, set aside at the beginning, and in the system's file cache while a run uses it; the process itself \
            keeps two bits for a wallet at rest. The file is as secret as the keys (mode 0600). One process at a time \
            uses it. A crash at any moment costs at most the registrations under way.

            A server forgets a registration that no session was opened for, after a day unless its setting \
            enrollment.unopened-lifetime says otherwise, up to 30d: run a load before, or set it.
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(
        help: ArgumentHelp("How many the file is to hold, as in 2000, 10k or 1M.", valueName: "n"),
        transform: Self.count
    )
    var wallets: Int

    @Option(
        name: .customLong("out"),
        help: ArgumentHelp("The file of wallets.", valueName: "file"),
        completion: .file()
    )
    var path: String

    @Option(
        help: ArgumentHelp("How many of them are iPhones. (default: 30%)", valueName: "share"),
        transform: Self.share
    )
    var ios: PlatformShare = .standard

    @Option(help: ArgumentHelp("Connections that register at once, 1 to 1000.", valueName: "n"))
    var connections = 64

    @Option(
        help: ArgumentHelp("For a connection, and for an answer. (default: 10s)", valueName: "time"),
        transform: Self.duration
    )
    var timeout: Duration = .seconds(10)

    @Option(
        help: ArgumentHelp("How long a server that stopped answering is waited for. (default: 1m)", valueName: "time"),
        transform: Self.duration
    )
    var patience: Duration = .seconds(60)

    func validate() throws {
        guard (1...1000).contains(self.connections) else { throw ValidationError("--connections is 1 to 1000.") }
    }

    func run() async throws {
        try await ending {
            let target = try self.target.target()
            // Before a file is made that nothing could be put into.
            do throws(Target.Problem) { try target.requireAuthority() } catch {
                throw CommandFailure(.usage, error.description)
            }
            let fleet = try self.fleet(for: target)
            var options = FleetProvisioner.Options()
            options.connections = self.connections
            options.share = self.ios
            options.timeout = self.timeout
            options.patience = self.patience
            let provisioning: FleetProvisioner
            do throws(Target.Problem) {
                provisioning = try FleetProvisioner(fleet, goal: self.wallets, at: target, options: options)
            } catch {
                throw CommandFailure(.usage, error.description)
            }
            try await self.run(provisioning, fleet, target)
        }
    }

    /// The file: a new one, or the one that an earlier call left.
    private func fleet(for target: Target) throws -> Fleet {
        do throws(FleetError) {
            let fleet: Fleet
            if DurableFile.exists(self.path) {
                fleet = try Fleet.resume(self.path, wallets: self.wallets, for: target.fingerprint)
            } else {
                fleet = try Fleet.create(at: self.path, wallets: self.wallets, fingerprint: target.fingerprint)
            }
            if fleet.tornCount > 0 {
                StandardStreams.writeError(
                    "pin-load: \(fleet.tornCount.grouped) records are damaged; these wallets are registered anew\n"
                )
            }
            return fleet
        } catch {
            throw CommandFailure(error)
        }
    }

    private func run(_ provisioning: FleetProvisioner, _ fleet: Fleet, _ target: Target) async throws {
        let display = ProvisionDisplay(provisioning, address: target.address)
        display.begin()
        let wasInterrupted: Bool
        do throws(FleetFailure) {
            wasInterrupted = try await Self.stoppable(provisioning, display)
            do throws(FleetError) { try fleet.close() } catch { throw .fleet(error) }
        } catch {
            display.end()
            throw CommandFailure(error, goingOn: "the same command goes on: \(display.held)")
        }
        display.end()
        StandardStreams.writeOutput(display.summary(path: self.path, wasInterrupted: wasInterrupted))
        if wasInterrupted { throw ExitStatus.interrupted.exitCode }
    }

    /// Runs it until it is done or a signal asks to stop; a second signal ends the process where it is.
    private static func stoppable(
        _ provisioning: FleetProvisioner,
        _ display: ProvisionDisplay
    ) async throws(FleetFailure) -> Bool {
        let watching = await Interruption.watch {
            display.stop()
            provisioning.stop()
        }
        let ticking = Task { await display.tick() }
        defer {
            watching.cancel()
            ticking.cancel()
        }
        try await provisioning.run()
        return display.isStopped && provisioning.progress.left > 0
    }
}

// MARK: - What is written on the command line

extension ProvisionCommand {
    private static func count(_ text: String) throws -> Int {
        guard let count = CountText.readCount(text), Fleet.allowedCounts.contains(count) else {
            throw ValidationError("a number of wallets is 1 to 100M, as in 2000, 10k or 1M")
        }
        return count
    }

    private static func share(_ text: String) throws -> PlatformShare {
        guard let share = PlatformShare(text) else { throw ValidationError("a share is 0% to 100%, as in 30%") }
        return share
    }

    private static func duration(_ text: String) throws -> Duration {
        guard let duration = DurationText.read(text), duration > .zero else {
            throw ValidationError("a time has a unit, as in 500ms, 10s or 2m")
        }
        return duration
    }
}

extension CommandFailure {
    /// A file of wallets cannot be used.
    init(_ error: FleetError) {
        switch error {
        case .inUse: self.init(.inUse, error.description)
        // A symbolic link: nothing failed, another file has to be named.
        case .file(.other(_, ELOOP)): self.init(.usage, error.description)
        case .file(.diskFull), .file(.other), .countersSpent, .recordDamaged: self.init(.failed, error.description)
        case .file, .foreign, .version, .damaged, .cut, .otherServer, .empty: self.init(.usage, error.description)
        }
    }

    /// The server gave no wallet.
    init(_ failure: FleetFailure, goingOn: String) {
        if case .fleet(let error) = failure {
            self.init(error)
            return
        }
        var message = failure.description
        switch failure {
        case .connect(.refused), .connect(.timedOut), .connect(.noRoute):
            message += "\n  Is it being served? remote-pin-server lab up DIR, in another terminal."
        case .refused(.attestationRejected):
            message +=
                "\n  The server does not take this authority's evidence. Is it the one that it is configured with?"
        case .refused(.revoked):
            message += "\n  The whole solution is revoked: remote-pin-server admin restore solution"
        default: break
        }
        self.init(.unavailable, "\(message)\n  Once that is mended, \(goingOn)")
    }
}
