import DeviceInterface
import Secrets
import Testing
import Vocabulary
import WalletFlows

@testable import WalletCore

/// One life of the app's process below its flows: effects are asked for directly.
///
/// What a flow would have shown in between is up to each test, which is how orders that no flow takes are tried too.
struct EngineUnderTest {
    let phone: TestPhone
    let engine: WalletEngine

    init(_ phone: TestPhone, on device: (any Device)? = nil) throws {
        self.phone = phone
        self.engine = try WalletEngine(
            store: LocalStore(phone.disk),
            device: device ?? phone.device,
            dialer: phone.server,
            clock: phone.clock,
            settings: Wallet.Settings()
        )
    }

    /// A wallet that is set up, and unlocked still.
    static func setUp(_ phone: TestPhone) async throws -> EngineUnderTest {
        phone.keychain.withState { $0.biometrics = .fingerprint }
        let life = try EngineUnderTest(phone)
        _ = await life.engine.perform(.enroll(Self.entry(TestPhone.oldPIN)))
        _ = await life.engine.perform(.keepProgress(.done))
        return life
    }

    /// The same, with biometrics in this mode.
    static func setUp(_ phone: TestPhone, _ mode: BiometricMode) async throws -> EngineUnderTest {
        phone.server.withState { $0.wantsSafeMode = mode == .safe }
        let life = try await Self.setUp(phone)
        if mode != .off { try #require(await life.enable() == .done) }
        try #require(life.mode == mode)
        return life
    }

    static func entry(_ digits: String) -> PINEntry {
        guard case .complete(let entry) = PINInput(typed: digits.utf8) else { preconditionFailure("six digits") }
        return entry
    }

    /// What became of an effect, as far as these tests ask.
    enum Outcome: Hashable {
        case done
        case prompted(PromptResult)
        case itemGone
        case revoked
        case blockedForGood
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
        case .verdict(.blockedPermanently): .blockedForGood
        case .verdict: .wrong
        case .failed, .updatePolicy, .status, .deletionCode, .pid: .failed
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

    /// UC2.2/1.1b to 1.6: in the safe mode the prompt comes first.
    func disable() async -> Outcome {
        if self.mode == .safe {
            let prompted = await self.prompt(.disable)
            guard prompted == .done else { return prompted }
        }
        return await self.perform(.disableBiometrics)
    }

    /// UC2.6: in the safe mode the prompt, then the old PIN, then the change.
    func change(from old: String, to new: String) async -> Outcome {
        if self.mode == .safe {
            let prompted = await self.prompt(.changePIN)
            guard prompted == .done else { return prompted }
        }
        let checked = await self.check(old)
        guard checked == .done else { return checked }
        return await self.perform(.changePIN(old: Self.entry(old), new: Self.entry(new)))
    }

    /// A PIN that unlocks, then the prompt that the migration asks for.
    func migrate(_ presentation: Presentation = .match) async -> Outcome {
        let checked = await self.check(TestPhone.oldPIN)
        guard checked == .done else { return checked }
        guard self.mode == .fallback, self.engine.facts().wantsSafeMode else { return .failed }
        return await self.perform(.migrateBiometrics(presentation))
    }

    var mode: BiometricMode { self.engine.facts().biometricMode }
    var isLocked: Bool { self.engine.unlocked == nil }
    var registration: LocalRegistration? { self.engine.store.state.registration }
}

extension TestPhone {
    func life() throws -> EngineUnderTest { try EngineUnderTest(self) }

    /// The keychain's items.
    var items: [String] { self.keychain.withState { $0.items.keys.sorted() } }

    /// What the item's owner would get.
    func openItem(_ id: StoredID<KeychainItemKind>) -> OpenedItem? {
        self.keychain.withState { $0.items[id.name]?.secret }.flatMap { OpenedItem(id, SecretBytes(copying: $0)) }
    }

    /// Whether the next life opens by every way that its mode promises, with this PIN; what it finds in the keychain
    /// afterwards is what its state names, and nothing else.
    func opens(with pin: String) async throws -> Bool {
        let life = try self.life()
        switch life.mode {
        case .off:
            guard await life.check(pin) == .done else { return false }
        case .fallback:
            guard await life.check(pin) == .done else { return false }
            _ = await life.perform(.lock)
            guard await life.unlock() == .done else { return false }
        case .safe:
            guard await life.unlock() == .done, await life.prompt(.changePIN) == .done, await life.check(pin) == .done
            else { return false }
        }
        return life.engine.unlocked?.accessData != nil
            && self.items == [life.registration?.biometrics?.item.name].compactMap { $0 }
    }
}
