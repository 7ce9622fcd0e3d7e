internal import ConfigText
internal import HostSystem
internal import LabFiles
internal import SimulatedPhone
internal import Transport
internal import Vocabulary
internal import WalletCore
internal import WalletFlows
internal import Wire

/// The server to run scenarios against.
package enum ScenarioTarget: Sendable {
    /// A new lab for each scenario, with a server started from the given binary.
    case ownLabs(serverBinary: String)
    /// A server that is already running.
    case server(ExistingServer)
}

/// A server that was not started by the run.
package struct ExistingServer: Hashable, Sendable {
    package var host: String
    package var port: Int
    package var name: String
    /// The certificate file of the authority that issued the server's certificate.
    package var caFile: String
    /// The folder of the authority that simulated phones use to attest their keys.
    package var authority: String

    package init(host: String, port: Int, name: String, caFile: String, authority: String) {
        self.host = host
        self.port = port
        self.name = name
        self.caFile = caFile
        self.authority = authority
    }
}

struct World {
    /// The settings that phones use to reach the server.
    let settings: WalletSettings
    /// Nil if the server was not started by the run.
    let lab: LabServer?

    /// The reason why steps that need a lab are skipped.
    static let notOurs = "the server is not a lab of this run"

    /// Starts a lab for the scenario, or uses the existing server.
    static func make(
        _ target: ScenarioTarget,
        _ scenario: Scenario,
        folder: String,
        lab: LabServer?
    ) async throws(StepProblem) -> World {
        var settings: WalletSettings
        switch target {
        case .ownLabs:
            guard let lab else { throw .failed("the scenario has no lab") }
            try await lab.start()
            settings = try Self.settings { () throws(PhoneError) in try WalletSettings(lab: lab.lab.path) }
        case .server(let server):
            if let name = scenario.server.keys.min() {
                throw .unsupported("the scenario needs the server's setting \(name), and \(Self.notOurs)")
            }
            settings = WalletSettings(server: try Self.dialed(server))
            settings.authorityFolder = server.authority
        }
        scenario.wallet.apply(to: &settings)
        return World(settings: settings, lab: lab)
    }

    /// Returns the lab; throws if the server is not a lab.
    func requireLab() throws(StepProblem) -> LabServer {
        guard let lab else { throw .unsupported(Self.notOurs) }
        return lab
    }

    /// Waits for a delayed answer, either on the lab's clock, so that the scenario does not block, or in real time if
    /// there is no lab.
    var wait: SimulatedNetwork.Wait {
        guard let lab = self.lab else { return SimulatedNetwork.realTime }
        return { try await lab.advance(by: $0) }
    }

    /// Queues calls while the lab's server is frozen.
    var hold: SimulatedNetwork.Hold {
        guard let lab = self.lab else { return SimulatedNetwork.neverHeld }
        return { lab.hold($0) }
    }

    /// Sends a deletion code to the server, as the deletion portal does.
    func revoke(with code: String) async throws(StepProblem) -> CodeRevocation {
        try self.lab?.checkAnswers()
        let server = self.settings.server
        let trust: TLSTrust =
            switch server.trust {
            case .authority(let pem): .authority(pem: pem)
            case .publicKeys(let digests): .publicKeys(digests)
            }
        do {
            let tls = try TLSClientContext(trust: trust, serverName: server.name)
            let connection = try await ClientConnection.connect(
                host: server.host,
                port: server.port,
                tls: tls,
                timeout: Self.timeout
            )
            defer { connection.close() }
            let result = try await connection.call(.revokeWithCode(code), timeout: Self.timeout)
            switch result {
            case .revokeWithCode(let revocation): return revocation
            case .refused(let refusal):
                throw StepProblem.failed("the server rejected the portal's call: \(refusal.reason)")
            default: throw StepProblem.failed("the server sent the portal an unexpected reply")
            }
        } catch let problem as StepProblem {
            throw problem
        } catch {
            throw .failed("the portal cannot reach the server: \(error)")
        }
    }

    private static let timeout: Duration = .seconds(20)

    private static func dialed(_ server: ExistingServer) throws(StepProblem) -> TLSDialer.Server {
        do throws(FileError) {
            let pem = try DurableFile.read(server.caFile, atMost: 1 << 20)
            return TLSDialer.Server(
                host: server.host,
                port: server.port,
                name: server.name,
                trust: .authority(pem: pem)
            )
        } catch {
            throw .failed("\(error)")
        }
    }

    private static func settings(
        _ read: () throws(PhoneError) -> WalletSettings
    ) throws(StepProblem) -> WalletSettings {
        try mapError(read()) { (error: PhoneError) in StepProblem.failed("\(error)") }
    }
}

extension AppConfiguration {
    /// Applies the values that are set in the scenario.
    func apply(to settings: inout WalletSettings) {
        func text(_ name: String) -> String? {
            self.value?[name]?.unescaped.text.flatMap { $0 == "none" ? nil : $0 }
        }
        func time(_ name: String) -> Duration? { self.value?[name]?.duration }
        if let language = text("language").flatMap(Wording.Language.init) { settings.wording.language = language }
        if let product = text("product") { settings.wording.product = product }
        if let base = text("link_base") { settings.linkBase = base }
        if let time = time("lock_after_background") { settings.lockTimes.background = time }
        if let time = time("lock_after_inactivity") {
            settings.lockTimes.inactivity = time
            settings.lockTimes.warning = time * 4 / 5
        }
        if let time = time("lock_warning_after") { settings.lockTimes.warning = time }
        if let isRequired = self.value?["pin_after_enrollment"]?.truth { settings.pinAfterEnrollment = isRequired }
        if let confirms = self.value?["confirm_with_prompt"]?.truth { settings.confirmsWithPrompt = confirms }
    }
}

extension ExistingServer {
    /// Returns whether a server answers at the address with a certificate issued by the authority.
    package func isReachable() async -> Bool {
        do {
            let pem = try DurableFile.read(self.caFile, atMost: 1 << 20)
            let tls = try TLSClientContext(trust: .authority(pem: pem), serverName: self.name)
            let connection = try await ClientConnection.connect(
                host: self.host,
                port: self.port,
                tls: tls,
                timeout: .seconds(10)
            )
            connection.close()
            return true
        } catch {
            return false
        }
    }
}
