internal import HostSystem
internal import LabFiles
internal import Phone
internal import SimulatedPhone
internal import Transport
internal import Vocabulary
internal import WalletCore
internal import WalletFlows
internal import Wire

/// The server that scenarios use.
package enum ScenarioTarget: Sendable {
    /// A separate lab for each scenario, served by this program.
    case ownLabs(serverBinary: String)
    /// A running server.
    case server(ExistingServer)
}

/// A server outside the control of the run.
package struct ExistingServer: Hashable, Sendable {
    package var host: String
    package var port: Int
    /// The name in its certificate.
    package var name: String
    /// The file of the authority that signed its certificate.
    package var caFile: String
    /// The folder of the authority with which simulated phones attest their keys.
    package var authority: String

    package init(host: String, port: Int, name: String, caFile: String, authority: String) {
        self.host = host
        self.port = port
        self.name = name
        self.caFile = caFile
        self.authority = authority
    }
}

/// The server of one scenario.
struct World {
    /// The phones' settings for reaching the server.
    let settings: WalletSettings
    /// Nil if the server is outside the control of the run.
    let lab: LabServer?

    /// The reason for skipping steps that need a lab.
    static let notOurs = "the server is not a lab of this run"

    /// Starts the scenario's lab, or uses the existing server.
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

    /// The lab; throws if the server is not a lab.
    func requireLab() throws(StepProblem) -> LabServer {
        guard let lab else { throw .unsupported(Self.notOurs) }
        return lab
    }

    /// Lets a delayed answer's time pass: on the lab's clock, so that no scenario waits; in real time without a lab.
    var wait: SimulatedNetwork.Wait {
        guard let lab = self.lab else { return SimulatedNetwork.realTime }
        return { try await lab.advance(by: $0) }
    }

    /// Takes over calls while the lab's server is frozen.
    var hold: SimulatedNetwork.Hold {
        guard let lab = self.lab else { return SimulatedNetwork.neverHeld }
        return { lab.hold($0) }
    }

    /// Sends the server a deletion code, as the deletion portal does.
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
        do throws(PhoneError) {
            return try read()
        } catch {
            throw .failed("\(error)")
        }
    }
}

extension AppConfiguration {
    /// Applies the values that the scenario states.
    func apply(to settings: inout WalletSettings) {
        if let language = self.language.flatMap(Wording.Language.init) { settings.wording.language = language }
        if let product = self.product { settings.wording.product = product }
        if let base = self.linkBase { settings.linkBase = base }
        if let time = self.lockAfterBackground { settings.lockTimes.background = time }
        if let time = self.lockAfterInactivity {
            settings.lockTimes.inactivity = time
            settings.lockTimes.warning = time * 4 / 5
        }
        if let time = self.lockWarningAfter { settings.lockTimes.warning = time }
    }
}

extension ExistingServer {
    /// Returns whether a server with a certificate of the authority answers at the address.
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
