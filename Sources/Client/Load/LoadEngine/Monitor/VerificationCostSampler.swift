internal import Foundation
internal import HostSystem
internal import Secrets
internal import Statements
internal import Synchronization
internal import Vocabulary

/// Samples the CPU cost of a signature verification on this machine while the load is running.
///
/// Each PIN check needs one verification, alone or in a batch. Ten times a second, a separate thread performs a few of
/// them with the library that the server uses, which takes about a hundredth of a core. A measurement before the run
/// would not include the slowdown caused by neighbors on a shared machine, which also affects the server.
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

    /// Returns nil if its key cannot be created, which has never been observed.
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

    /// Starts the thread.
    ///
    /// ``stop()`` ends it.
    func start() {
        let thread = Thread { self.run() }
        thread.name = "verification-cost"
        thread.start()
    }

    func stop() {
        self.state.withLock { $0.isStopped = true }
    }

    /// Returns the mean CPU time of a verification since the last call in µs, or nil if there were none.
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
