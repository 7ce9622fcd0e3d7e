internal import ConfigText
internal import HostSystem
internal import LabFiles
package import SimulatedPhone
internal import Transport
internal import Vocabulary
package import WalletCore
internal import WalletFlows
internal import Wire

/// The server to run scenarios against.
package enum ScenarioTarget: Sendable {
    /// A new lab for each scenario, with a server started from the given binary.
    case ownLabs(serverBinary: String)
    /// A server that is already running, and the authority that attests the phones' keys.
    case server(WalletSettings)
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
            settings = try mapError(WalletSettings(lab: lab.lab.path)) { (error: PhoneError) in
                StepProblem.failed("\(error)")
            }
        case .server(let server):
            if let name = scenario.server.keys.min() {
                throw .unsupported("the scenario needs the server's setting \(name), and \(Self.notOurs)")
            }
            settings = server
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
        let result: Result<CallResult, CallError>
        do {
            let channel = try await TLSDialer(self.settings.server).dial()
            result = await channel.result(of: .revokeWithCode(code))
            await channel.close()
        } catch {
            throw .failed("the portal cannot reach the server: \(error)")
        }
        switch result {
        case .success(.revokeWithCode(let revocation)): return revocation
        case .success(.refused(let refusal)):
            throw .failed("the server rejected the portal's call: \(refusal.reason)")
        case .success: throw .failed("the server sent the portal an unexpected reply")
        case .failure(let error): throw .failed("the portal cannot reach the server: \(error)")
        }
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

extension TLSDialer.Server {
    /// Returns whether a server with a trusted certificate answers at the address.
    package func isReachable() async -> Bool {
        guard let channel = try? await TLSDialer(self).dial() else { return false }
        await channel.close()
        return true
    }
}
