import Devices
import Presence
import Secrets
import Synchronization
import Vocabulary
import WalletFlows

@testable import WalletCore

/// A phone whose proofs nobody checks: these tests are about the wallet's files and messages.
final class TestDevice: Device {
    private let key = Mutex<UInt8?>(nil)
    private let rooted = Mutex(false)
    private let network = Mutex(true)

    var platform: Platform { .android }
    var osVersion: String { "16" }
    var model: String { "Test One" }
    var isRooted: Bool { self.rooted.withLock { $0 } }
    var hasNetwork: Bool { self.network.withLock { $0 } }
    var appID: String { "org.example.wallet" }
    var appVersion: String { "1.0.0" }
    var hasKey: Bool { self.key.withLock { $0 != nil } }

    var biometrics: BiometricSupport { .none }
    var hasPasscode: Bool { false }
    var answersPrompts: Bool { true }
    var keychain: any Keychain { EmptyKeychain() }

    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        .unavailable
    }

    func setNetwork(_ isOn: Bool) { self.network.withLock { $0 = isOn } }

    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        self.key.withLock { $0 = ($0 ?? 0) &+ 1 }
        return .android([[1, 2, 3], [4, 5, 6]])
    }

    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        guard self.hasKey else { throw .noKey }
        return Array(repeating: 7, count: 64)
    }

    func deleteKey() async throws(DeviceError) {
        self.key.withLock { $0 = nil }
    }
}

/// Keeps nothing.
struct EmptyKeychain: Keychain {
    func names() throws(KeychainError) -> [String] { [] }

    func add(_ secret: borrowing SecretBytes, as name: String, access: UnlockMethod) throws(KeychainError) {
        throw .accessImpossible
    }

    func read(_ name: String, _ prompt: Prompt, _ presentation: Presentation) async throws(KeychainError) -> SecretBytes
    {
        throw .notFound
    }

    func remove(_ name: String) throws(KeychainError) {}
}

/// A phone with its storage, a server, and the life of the app's process in between.
struct TestPhone {
    let power = Power()
    let disk: TestDisk
    let server: FakeServer
    let device = TestDevice()
    let clock = ManualClock()

    init() {
        self.disk = TestDisk(power: self.power)
        self.server = FakeServer(power: self.power)
    }

    /// A new process of the app.
    func wallet() throws -> Wallet {
        try Wallet(disk: self.disk, device: self.device, dialer: self.server, clock: self.clock, skipsSplash: true)
    }

    /// A wallet that is set up, its code written down, unlocked.
    func setUp(pin: String = TestPhone.oldPIN) async throws -> Wallet {
        let wallet = try self.wallet()
        _ = try await self.choose(pin, in: wallet)
        _ = try await wallet.perform(.next)
        _ = try await wallet.perform(.writtenDown)
        return wallet
    }

    /// From the launch to the end of PF2.9.
    func choose(_ pin: String, in wallet: Wallet) async throws -> Screen {
        _ = await wallet.launch()
        _ = try await wallet.perform(.skip)
        _ = try await wallet.perform(.next)
        _ = try await wallet.enter(PINInput(typed: pin.utf8))
        return try await wallet.enter(PINInput(typed: pin.utf8))
    }

    /// A new process tries a PIN; whether it unlocked, or shows what only an unlocked wallet may show.
    func unlocks(with pin: String) async throws -> Bool {
        let wallet = try self.wallet()
        let screen = await wallet.launch()
        guard screen.step == "UC2.3/1.3" else { return false }
        let next = try await wallet.enter(PINInput(typed: pin.utf8))
        return await !wallet.isLocked || next.step.hasPrefix("UC3.1") || next.step.hasPrefix("UC7.1")
    }

    /// From the unlocked wallet to the end of a change.
    static func change(to pin: String, in wallet: Wallet) async throws -> Screen {
        _ = try await wallet.open(.changePIN)
        _ = try await wallet.enter(PINInput(typed: TestPhone.oldPIN.utf8))
        _ = try await wallet.enter(PINInput(typed: pin.utf8))
        return try await wallet.enter(PINInput(typed: pin.utf8))
    }

    static let oldPIN = "024791"
    static let newPIN = "135790"
    static let otherPIN = "864209"
}
