internal import WalletFlows
internal import Statements
internal import Transport
internal import Vocabulary
internal import Wire

/// An attacker with a copy of the server's database, and perhaps with a phone, whose PIN it does not know.
///
/// It opens a session, names the public key of the PIN without its private key, and confirms shares without a PIN. The
/// observer reports what it gets (``Observer``).
struct Thief: Sendable {
    let run: Simulation
    let wallet: WalletID
    /// The stolen phone.
    let device: (any Device)?

    /// Attacks from a separate process.
    func attack() {
        let process = SimulatedProcess("thief", self.run.scheduler)
        self.run.scheduler.enter(process) { Task { try? await self.attack(in: process) } }
        self.run.scheduler.keep(process)
    }

    private func attack(in process: SimulatedProcess) async throws {
        let connection = try await self.run.network.connect(process, thiefHasPhone: self.device != nil)
        defer { connection.close() }
        guard let version = AppVersion("1.0.0"), let system = DeviceText("14") else { return }
        let hello = Hello(appVersion: version, platform: .android, osVersion: system)
        _ = try await connection.call(.hello(hello), timeout: .seconds(20))
        let body = OpenSessionBody(appVersion: version, osVersion: system).encoded()
        let statement = Statement(
            .session,
            channelBinding: connection.channelBinding,
            walletID: self.wallet,
            body: body
        )
        let signature = try await self.device?.prove(statement: statement.bytes) ?? Self.forged
        guard let proof = DeviceProof(signature) else { return }
        let opening = OpenSession(walletID: self.wallet, body: body, deviceProof: proof)
        _ = try await connection.call(.openSession(opening), timeout: .seconds(20))
        let confirmation = ConfirmShares(unlock: false, presence: true)
        _ = try await connection.call(.confirmShares(confirmation), timeout: .seconds(20))
        guard let key = self.run.observer.newestKey(of: self.wallet), let forged = P256Signature(Self.forged) else {
            return
        }
        let instruction = InstructBody(
            attemptID: .random(),
            pinKeyID: key.id,
            candidate: key.key,
            instruction: .checkPIN
        )
        let call = Instruct(counter: 1, body: instruction.encoded(), pinSignature: forged)
        _ = try await connection.call(.instruct(call), timeout: .seconds(20))
    }

    /// A signature that no key has made.
    private static let forged = [UInt8](repeating: 7, count: 64)
}
