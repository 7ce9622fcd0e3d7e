internal import WalletFlows
internal import Secrets
internal import Synchronization
internal import Vocabulary
internal import WalletCore

/// The simulated processes of the app.
///
/// One instance stands for all of them in succession. ``restart()`` begins the next one, which opens the disk anew.
final class SimulatedProcess: Sendable {
    private enum State {
        case alive
        /// Survives `afterWrites` more writes and dies at the one after that, which was planned as write number
        /// `atWrite`.
        case dies(afterWrites: Int, atWrite: Int)
        case dead
    }

    private let state = Mutex(State.alive)

    var isDead: Bool {
        self.state.withLock { state in
            if case .dead = state { true } else { false }
        }
    }

    /// Makes the process die right before the n-th write from now.
    func crash(beforeWrite number: Int) { self.state.withLock { $0 = .dies(afterWrites: number - 1, atWrite: number) } }

    /// The planned write and the number of writes since the crash was planned, or nil if no crash is planned.
    var plannedCrash: (atWrite: Int, writes: Int)? {
        self.state.withLock { state in
            guard case .dies(let left, let number) = state else { return nil }
            return (number, number - 1 - left)
        }
    }

    /// Replaces a dead process with a new one that has no planned crash.
    func restart() { self.state.withLock { $0 = .alive } }

    /// Counts a write; returns false if the process is dead, in which case the write must not happen.
    func survivesWrite() -> Bool {
        self.state.withLock { state in
            switch state {
            case .alive: return true
            case .dead: return false
            case .dies(afterWrites: 0, atWrite: _):
                state = .dead
                return false
            case .dies(let writes, let number):
                state = .dies(afterWrites: writes - 1, atWrite: number)
                return true
            }
        }
    }
}

/// The phone as seen by an app whose process may die.
///
/// Calls made after that have no effect; all others are passed to the wrapped device.
struct CrashingDevice: DeviceWrapper {
    let wrapped: any Device
    private let process: SimulatedProcess

    init(_ device: any Device, _ process: SimulatedProcess) {
        self.wrapped = device
        self.process = process
    }

    var hasNetwork: Bool { self.wrapped.hasNetwork && !self.process.isDead }
    var keychain: any Keychain { CrashingKeychain(self.wrapped.keychain, self.process) }

    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try await self.alive().authenticate(prompt, presentation)
    }

    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try await self.alive().createKey(challenge: challenge)
    }

    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try await self.alive().prove(statement: statement)
    }

    func deleteKey() async throws(DeviceError) { try await self.alive().deleteKey() }

    /// Returns the wrapped device; throws if the process is dead.
    private func alive() throws(DeviceError) -> any Device {
        guard !self.process.isDead else { throw .storage("the process has died") }
        return self.wrapped
    }
}

/// A keychain whose app process may die right before a change.
private struct CrashingKeychain: Keychain {
    private let keychain: any Keychain
    private let process: SimulatedProcess

    init(_ keychain: any Keychain, _ process: SimulatedProcess) {
        self.keychain = keychain
        self.process = process
    }

    func names() throws(KeychainError) -> [String] { try self.keychain.names() }

    func add(_ secret: borrowing SecretBytes, as name: String, access: ItemAccess) throws(KeychainError) {
        guard self.process.survivesWrite() else { throw .storage("the process has died") }
        try self.keychain.add(secret, as: name, access: access)
    }

    func read(
        _ name: String,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(KeychainError) -> SecretBytes {
        guard !self.process.isDead else { throw .storage("the process has died") }
        return try await self.keychain.read(name, prompt, presentation)
    }

    func remove(_ name: String) throws(KeychainError) {
        guard self.process.survivesWrite() else { throw .storage("the process has died") }
        try self.keychain.remove(name)
    }
}

/// The space that the phone has for the app's files.
final class PhoneStorage: Sendable {
    private let state = Mutex(false)

    /// Whether no space is left.
    var isFull: Bool {
        get { self.state.withLock { $0 } }
        set { self.state.withLock { $0 = newValue } }
    }
}

/// The storage of an app whose process may die right before a write, on a phone whose storage may be full.
///
/// Every write is atomic, so a crash can only happen between two writes.
final class CrashingDisk: LocalDisk {
    private let disk: any LocalDisk
    private let process: SimulatedProcess
    private let storage: PhoneStorage

    init(_ disk: any LocalDisk, _ process: SimulatedProcess, _ storage: PhoneStorage) {
        self.disk = disk
        self.process = process
        self.storage = storage
    }

    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? { try self.disk.read(file) }

    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        guard !self.storage.isFull else { throw Self.noSpace }
        guard self.process.survivesWrite() else { throw Self.processEnded }
        try self.disk.write(bytes, to: file)
    }

    func remove(_ file: LocalFile) throws(LocalDiskError) {
        guard self.process.survivesWrite() else { throw Self.processEnded }
        try self.disk.remove(file)
    }

    private static let noSpace = LocalDiskError("no space left on device")
    private static let processEnded = LocalDiskError("the process has ended")
}
