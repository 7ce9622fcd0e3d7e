import WalletFlows
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import WalletCore

/// A phone with dummy proofs: these tests cover the wallet's files and messages.
final class TestDevice: Device {
    private let key = Mutex<UInt8?>(nil)
    private let rooted = Mutex(false)
    private let network = Mutex(true)
    let testKeychain: TestKeychain

    private let clock: ManualClock

    init(crashPoint: CrashPoint, clock: ManualClock) {
        self.clock = clock
        self.testKeychain = TestKeychain(crashPoint: crashPoint)
    }

    var platform: Platform { .android }
    var osVersion: String { "16" }
    var model: String { "Test One" }
    var isRooted: Bool { self.rooted.withLock { $0 } }
    var hasNetwork: Bool { self.network.withLock { $0 } }
    var appID: String { "org.example.wallet" }
    var appVersion: String { "1.0.0" }
    var uptime: Duration { .milliseconds(self.clock.now().milliseconds) }
    var hasKey: Bool { self.key.withLock { $0 != nil } }

    var biometrics: BiometricSupport { self.testKeychain.withState(\.biometrics) }
    var hasPasscode: Bool { true }
    var answersPrompts: Bool { self.testKeychain.withState(\.answersPrompts) }
    var keychain: any Keychain { self.testKeychain }

    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        self.testKeychain.answer(presentation, for: prompt.accepts)
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

/// A phone with its storage, a server, and a crash point shared by both.
struct FakePhone {
    let crashPoint = CrashPoint()
    let disk: TestDisk
    let server: FakeServer
    let device: TestDevice
    let clock = ManualClock(Timestamp(milliseconds: 1_700_000_000_000))

    init() {
        self.device = TestDevice(crashPoint: self.crashPoint, clock: self.clock)
        self.disk = TestDisk(crashPoint: self.crashPoint)
        self.server = FakeServer(crashPoint: self.crashPoint)
    }

    /// Starts a new process of the app.
    func wallet(
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in },
        _ change: (inout Wallet.Settings) -> Void = { _ in }
    ) throws -> Wallet {
        var settings = Wallet.Settings()
        settings.skipsSplash = true
        change(&settings)
        return try Wallet(
            disk: self.disk,
            device: self.device,
            connectingBy: self.server,
            clock: self.clock,
            settings: settings,
            observer: observer
        )
    }

    var keychain: TestKeychain { self.device.testKeychain }

    /// Returns a wallet that is set up, with the code written down, and unlocked.
    func setUp(pin: String = FakePhone.oldPIN) async throws -> Wallet {
        let wallet = try self.wallet()
        _ = try await self.choose(pin, in: wallet)
        _ = try await wallet.perform(.next)
        _ = try await wallet.perform(.writtenDown)
        return wallet
    }

    /// Goes from the launch to the end of PF2.9.
    func choose(_ pin: String, in wallet: Wallet) async throws -> Screen {
        _ = await wallet.launch()
        _ = try await wallet.perform(.skip)
        _ = try await wallet.perform(.next)
        _ = try await wallet.enter(PINInput(typed: pin.utf8))
        return try await wallet.enter(PINInput(typed: pin.utf8))
    }

    /// Tries a PIN in a new process.
    ///
    /// Returns true if it unlocks or shows a screen of an unlocked wallet.
    func unlocks(with pin: String) async throws -> Bool {
        let wallet = try self.wallet()
        let screen = await wallet.launch()
        guard screen.step == "UC2.3/1.3" else { return false }
        let next = try await wallet.enter(PINInput(typed: pin.utf8))
        return await !wallet.isLocked || next.step.hasPrefix("UC3.1") || next.step.hasPrefix("UC7.1")
    }

    /// Changes the PIN of an unlocked wallet.
    static func change(to pin: String, in wallet: Wallet) async throws -> Screen {
        try await self.beginChange(to: pin, in: wallet)
        return try await wallet.enter(PINInput(typed: pin.utf8))
    }

    /// Changes the PIN up to the last entry of the new PIN, which would send it.
    static func beginChange(to pin: String, in wallet: Wallet) async throws {
        _ = try await wallet.open(.changePIN)
        _ = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
        _ = try await wallet.enter(PINInput(typed: pin.utf8))
    }

    /// Sends a change of the PIN that the network holds back until ``FakeServer/deliverLate()``.
    func holdBackChange(to pin: String, in wallet: Wallet) async throws {
        self.server.withState { $0.keepsLate = true }
        self.crashPoint.arm(nil)
        try await FakePhone.beginChange(to: pin, in: wallet)
        // After the writes of the new pair and of the count.
        self.crashPoint.arm(.before(2))
        _ = try? await wallet.enter(PINInput(typed: pin.utf8))
        self.crashPoint.arm(nil)
        try #require(self.server.withState(\.late).count == 1)
    }

    static let oldPIN = "024791"
    static let newPIN = "135790"
    static let otherPIN = "864209"
}
