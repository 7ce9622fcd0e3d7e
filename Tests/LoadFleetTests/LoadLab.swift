import LoadEngine
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// A lab with a real server for load tests.
final class LoadLab: Sendable {
    static let patience: Duration = .seconds(60)

    let folder = TemporaryFolder()
    var path: String { self.folder.file("lab") }
    var wallets: String { self.folder.file("wallets") }

    /// Creates the lab without serving it.
    init() async throws {
        let made = try await ServerProcess.run("remote-pin-server", ["init", "--lab", self.path])
        try #require(made.exitCode == 0, "\(made.output)")
    }

    /// Limits as long as ``patience``, because a test process under a sanitizer may pause for longer than a phone does.
    private static let limits = [
        "REMOTE_PIN_LIMITS_HANDSHAKE": "60s", "REMOTE_PIN_LIMITS_FRAME": "60s",
        "REMOTE_PIN_LIMITS_IDLE_WITHOUT_SESSION": "60s",
    ]

    /// Serves it, at the same address each time.
    func start(_ environment: [String: String] = [:]) async throws -> ServerProcess {
        let settings = Self.limits.merging(environment) { $1 }
        return try await ServerProcess.start(["lab", "up", self.path], environment: settings)
    }

    /// A fleet of this many wallets, registered by the provisioner of `pin-load`.
    func fleet(_ count: Int, share: String = "50%") async throws -> (fleet: Fleet, target: Target) {
        let target = try Target(lab: self.path)
        do {
            let empty = try Fleet.create(at: self.wallets, wallets: count, fingerprint: target.fingerprint)
            var options = FleetProvisioner.Options()
            options.connections = 8
            options.timeout = Self.patience
            options.share = try #require(PlatformShare(share))
            let provisioning = try FleetProvisioner(empty, goal: count, at: target, options: options)
            try await provisioning.run()
            try #require(provisioning.progress.registered == count)
        }
        return (try Fleet.open(self.wallets, for: target.fingerprint), target)
    }
}

extension Fleet {
    /// Opens a session of a wallet on a separate connection.
    func session(_ index: Int, at target: Target, _ tls: TLSClientContext? = nil) async throws -> FleetSession {
        let context = try tls ?? target.tls(resuming: false)
        return try await FleetSession.open(
            self[index],
            of: self,
            at: target,
            tls: context,
            timeout: LoadLab.patience
        )
    }
}

extension FleetSession {
    /// Checks a PIN.
    func check(_ entry: PINChoice) async throws(FleetFailure) -> InstructResult {
        try await self.send(self.prepareCheck(entry)).result
    }

    /// Changes the PIN to the wallet's next one and records it in the fleet.
    func changePIN(_ entry: PINChoice = .right) async throws(FleetFailure) -> InstructResult {
        try await self.send(self.prepareChange(entry)).result
    }
}
