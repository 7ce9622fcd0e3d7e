import WalletFlows
import Secrets
import Testing
import Vocabulary

@testable import WalletCore

/// The engine of one process of the app, without flows: tests request effects directly.
///
/// This allows orders of effects that no flow requests.
struct EngineUnderTest {
    let phone: FakePhone
    let engine: WalletEngine

    init(_ phone: FakePhone, on device: (any Device)? = nil, settings: Wallet.Settings = Wallet.Settings()) throws {
        self.phone = phone
        self.engine = try WalletEngine(
            store: LocalStore(phone.disk),
            device: device ?? phone.device,
            dialer: phone.server,
            clock: phone.clock,
            settings: settings
        )
    }

    /// Creates an engine with a wallet that is set up and still unlocked.
    static func setUp(
        _ phone: FakePhone,
        settings: Wallet.Settings = Wallet.Settings()
    ) async throws -> EngineUnderTest {
        phone.keychain.withState { $0.biometrics = .fingerprint }
        let app = try EngineUnderTest(phone, settings: settings)
        _ = await app.engine.perform(.enroll(Self.entry(FakePhone.oldPIN)))
        _ = await app.engine.perform(.keepProgress(.done))
        return app
    }

    /// Creates the same with biometrics in this mode.
    static func setUp(
        _ phone: FakePhone,
        _ mode: BiometricMode,
        settings: Wallet.Settings = Wallet.Settings()
    ) async throws -> EngineUnderTest {
        phone.server.withState { $0.wantsSafeMode = mode == .safe }
        let app = try await Self.setUp(phone, settings: settings)
        if mode != .off { try #require(await app.enable() == .done) }
        try #require(app.mode == mode)
        return app
    }

    static func entry(_ digits: String) -> PINEntry {
        guard case .complete(let entry) = PINInput(typed: digits.utf8) else { preconditionFailure("six digits") }
        return entry
    }

    /// The outcome of an effect, reduced to the cases that tests distinguish.
    enum Outcome: Hashable {
        case done
        case prompted(PromptResult)
        case itemGone
        case revoked
        case blockedPermanently
        case wrong
        case failed
    }

    func perform(_ effect: Effect) async -> Outcome {
        switch await self.engine.perform(effect) {
        case .prompted(.confirmed), .biometricsChanged, .verdict(.valid), .pinChanged, .recoveryCodeLinked, .locked,
            .wiped, .enrolled, .progressKept:
            .done
        case .prompted(let result): .prompted(result)
        case .itemGone: .itemGone
        case .failed(.revoked), .status(.revoked): .revoked
        case .verdict(.blockedPermanently): .blockedPermanently
        case .verdict: .wrong
        case .failed, .updatePolicy, .status, .pinState, .deletionCode, .pid: .failed
        }
    }

    func check(_ pin: String) async -> Outcome { await self.perform(.checkPIN(Self.entry(pin))) }
    func unlock(_ presentation: Presentation = .match) async -> Outcome {
        await self.perform(.unlockWithBiometrics(presentation))
    }
    func prompt(_ purpose: Prompt.Purpose, _ presentation: Presentation = .match) async -> Outcome {
        await self.perform(.prompt(Prompt(purpose), presentation))
    }
    func enable(_ method: UnlockMethod = .biometric) async -> Outcome { await self.perform(.enableBiometrics(method)) }

    /// Turns biometrics off (UC2.2/1.1b to 1.6); in the safe mode the prompt comes first.
    func disable() async -> Outcome {
        if self.mode == .safe {
            let prompted = await self.prompt(.disable)
            guard prompted == .done else { return prompted }
        }
        return await self.perform(.disableBiometrics)
    }

    /// Changes the PIN (UC2.6): in the safe mode the prompt, then the old PIN, then the change.
    func change(from old: String, to new: String) async -> Outcome {
        if self.mode == .safe {
            let prompted = await self.prompt(.changePIN)
            guard prompted == .done else { return prompted }
        }
        let checked = await self.check(old)
        guard checked == .done else { return checked }
        return await self.perform(.changePIN(old: Self.entry(old), new: Self.entry(new)))
    }

    /// Unlocks with the PIN, then migrates with a prompt.
    func migrate(_ presentation: Presentation = .match) async -> Outcome {
        let checked = await self.check(FakePhone.oldPIN)
        guard checked == .done else { return checked }
        guard self.mode == .fallback, self.engine.facts().wantsSafeMode else { return .failed }
        return await self.perform(.migrateBiometrics(presentation))
    }

    var mode: BiometricMode { self.engine.facts().biometricMode }
    var isLocked: Bool { self.engine.unlocked == nil }
    var registration: LocalRegistration? { self.engine.store.state.registration }
}

extension FakePhone {
    func process() throws -> EngineUnderTest { try EngineUnderTest(self) }

    /// The names of the keychain's items.
    var items: [String] { self.keychain.withState { $0.items.keys.sorted() } }

    /// The item as a confirmed prompt would open it.
    func openItem(_ id: KeychainItemID) -> OpenedItem? {
        self.keychain.withState { $0.items[id.name]?.secret }.flatMap { OpenedItem(id, SecretBytes(copying: $0)) }
    }

    /// Returns true if the next process unlocks by all means of its mode and with this PIN, and the
    /// keychain then contains exactly the item that the state names.
    func opens(with pin: String) async throws -> Bool {
        let app = try self.process()
        switch app.mode {
        case .off:
            guard await app.check(pin) == .done else { return false }
        case .fallback:
            guard await app.check(pin) == .done else { return false }
            _ = await app.perform(.lock)
            guard await app.unlock() == .done else { return false }
        case .safe:
            guard await app.unlock() == .done, await app.prompt(.changePIN) == .done, await app.check(pin) == .done
            else { return false }
        }
        return app.engine.unlocked?.accessData != nil
            && self.items == [app.registration?.biometrics?.item.name].compactMap { $0 }
    }
}
