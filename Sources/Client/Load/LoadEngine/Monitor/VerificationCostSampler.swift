internal import Foundation
internal import HostSystem
internal import Secrets
internal import Statements
internal import Synchronization
internal import Vocabulary

/// What one signature verification by itself costs on this machine while the load goes on; each PIN check needs one, by
/// itself or together with others'.
///
/// A thread of its own takes a few verifications ten times a second, about a hundredth of a core, with the library that
/// the server uses. Measured before a run they would not pay for what the neighbors on a shared machine take meanwhile,
/// and the server would.
final class VerificationCostSampler: Sendable {
    private struct State {
        var cpu: Duration = .zero
        var count = 0
        var isStopped = false
    }

    private static let atOnce = 10
    private static let pause = 0.1

    private let state = Mutex(State())
    private let verifier: VerifyingKey
    private let statement: Statement
    private let signature: P256Signature

    /// Nil where the key that is made for it cannot be used, which no machine has shown.
    init?() {
        guard let pin = PIN(copying: Array("024791".utf8)),
            let binding = ChannelBinding([UInt8](repeating: 7, count: ChannelBindingKind.byteCount))
        else { return nil }
        let key = PINKey(pin: pin, salt: SecretBytes.random(count: PINKey.saltByteCount))
        let body = [UInt8](repeating: 1, count: 110)
        self.statement = Statement(
            .instructPIN,
            channelBinding: binding,
            walletID: .random(),
            counter: 1,
            body: body
        )
        self.signature = key.sign(self.statement)
        guard let verifier = VerifyingKey(key.publicKey) else { return nil }
        self.verifier = verifier
    }

    /// Begins to measure; ``stop()`` ends it.
    func start() {
        let thread = Thread { self.run() }
        thread.name = "verificationCost"
        thread.start()
    }

    func stop() {
        self.state.withLock { $0.isStopped = true }
    }

    /// µs of CPU time for one verification since the last call; nil where none was made.
    func take() -> Double? {
        let (cpu, count) = self.state.withLock { state in
            defer { (state.cpu, state.count) = (.zero, 0) }
            return (state.cpu, state.count)
        }
        return count > 0 ? (cpu / .microseconds(1)) / Double(count) : nil
    }

    private func run() {
        while !self.state.withLock({ $0.isStopped }) {
            let before = ThreadTime.cpu
            for _ in 0..<Self.atOnce { precondition(self.verifier.isValid(self.signature, for: self.statement)) }
            let cpu = ThreadTime.cpu - before
            self.state.withLock { state in
                state.cpu += cpu
                state.count += Self.atOnce
            }
            Thread.sleep(forTimeInterval: Self.pause)
        }
    }
}
