import WalletFlows
import Secrets
import Synchronization

/// A keychain in memory that releases items only after a confirmed prompt, and fails once the
/// process has crashed.
///
/// Adding, prompting and removing are places for a crash.
final class TestKeychain: Keychain {
    struct Item {
        var secret: [UInt8]
        var access: UnlockMethod
        /// Whether an enrollment ends the item.
        var isForEnrolledNow = false
    }

    struct State {
        var items: [String: Item] = [:]
        var biometrics = BiometricSupport.none
        var answersPrompts = true
        /// The input for prompts that are answered by the device.
        var presented = Presentation.match
        var mismatches = 0
        var prompts: [Prompt.Purpose] = []
        /// True to return other secrets than were added.
        var isBroken = false
        /// True to add items and report a failure.
        var failsAfterAdding = false
    }

    private let state = Mutex(State())
    private let crashPoint: CrashPoint

    init(crashPoint: CrashPoint) {
        self.crashPoint = crashPoint
    }

    func withState<Result: Sendable>(_ body: @Sendable (inout State) -> Result) -> Result {
        self.state.withLock { body(&$0) }
    }

    /// The result of a prompt with this access and input.
    func answer(_ presentation: Presentation, for access: UnlockMethod) -> PromptResult {
        self.withState { state in
            let presented = presentation == .byDevice ? state.presented : presentation
            switch (presented, access) {
            case (.cancel, _): return .cancelled
            case (.passcode, .passcode), (.passcode, .either):
                state.mismatches = 0
                return .confirmed
            case (.passcode, .biometric), (.wrongPasscode, _), (_, .passcode): return .rejected
            case (_, .biometric), (_, .either): break
            }
            guard state.biometrics.isEnrolled else { return .unavailable }
            guard state.mismatches < 5 else { return .lockedOut }
            guard presented == .match else {
                state.mismatches += 1
                return state.mismatches == 5 ? .lockedOut : .rejected
            }
            state.mismatches = 0
            return .confirmed
        }
    }

    /// Enrolls another biometric.
    func enroll() {
        self.withState { $0.items = $0.items.filter { !$0.value.isForEnrolledNow } }
    }

    func names() throws(KeychainError) -> [String] { self.withState { $0.items.keys.sorted() } }

    func add(_ secret: borrowing SecretBytes, as name: String, access: ItemAccess) throws(KeychainError) {
        guard access.method == .passcode || self.withState(\.biometrics).isEnrolled else { throw .accessImpossible }
        guard let passed = self.crashPoint.pass("add item") else { throw Self.dead }
        let item = Item(
            secret: secret.exposedBytes(),
            access: access.method,
            isForEnrolledNow: access == .enrolledNow
        )
        let fails = self.withState { state in
            state.items[name] = item
            return state.failsAfterAdding
        }
        if passed.isLast || fails { throw Self.dead }
    }

    func read(_ name: String, _ prompt: Prompt, _ presentation: Presentation) async throws(KeychainError) -> SecretBytes
    {
        guard let passed = self.crashPoint.pass("prompt"), !passed.isLast else { throw Self.dead }
        guard let item = self.withState({ $0.items[name] }) else { throw .notFound }
        self.withState { $0.prompts.append(prompt.purpose) }
        let result = self.answer(presentation, for: item.access)
        guard result == .confirmed else { throw .prompt(result) }
        return self.withState(\.isBroken) ? .random(count: item.secret.count) : SecretBytes(copying: item.secret)
    }

    func remove(_ name: String) throws(KeychainError) {
        guard self.withState({ $0.items[name] != nil }) else { return }
        guard let passed = self.crashPoint.pass("remove item") else { throw Self.dead }
        self.withState { $0.items[name] = nil }
        if passed.isLast { throw Self.dead }
    }

    private static let dead = KeychainError.storage("the process has ended")
}
