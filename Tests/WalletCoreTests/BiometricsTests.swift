import DeviceInterface
import Secrets
import Statements
import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Biometrics in both modes")
struct BiometricsTests {
    let phone = TestPhone()

    @Test("SB1: in the safe mode PIN and unlock share open nothing without the keychain item")
    func enableSafe() async throws {
        let life = try await EngineUnderTest.setUp(self.phone, .safe)
        let record = try #require(self.phone.server.onlyRecord)
        let registration = try #require(life.registration)
        let walletID = registration.walletID.value
        let pair = try #require(registration.pairs.first)
        let entry = EngineUnderTest.entry(TestPhone.oldPIN)
        #expect(throws: SealBroken.self) {
            _ = try pair.open(with: entry, share: record.unlockShare, walletID: walletID).count
        }
        let biometrics = try #require(registration.biometrics)
        let item = try #require(self.phone.openItem(biometrics.item))
        let bare = try pair.unsealed(with: item, walletID: walletID)
        #expect(try bare.open(with: entry, share: record.unlockShare, walletID: walletID).count == 32)
    }

    @Test("in the fallback mode the PIN opens without the item, and the item without the PIN")
    func enableFallback() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .fallback)
        #expect(try await self.phone.life().check(TestPhone.oldPIN) == .done)
        let life = try self.phone.life()
        #expect(await life.unlock() == .done)
        #expect(!life.isLocked)
        #expect(life.engine.unlocked?.unlockShare == nil)
    }

    @Test("SB2: a confirmed prompt and a session unlock", arguments: [BiometricMode.fallback, .safe])
    func unlock(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let life = try self.phone.life()
        #expect(life.isLocked)
        #expect(await life.unlock() == .done)
        #expect(!life.isLocked)
        #expect(self.phone.keychain.withState(\.prompts) == [.unlock])
        #expect(self.phone.server.onlyRecord?.wrongAttempts == 0)
    }

    @Test(
        "SB3, SB4: a prompt that is not confirmed asks the server nothing and changes nothing",
        arguments: [(Presentation.cancel, PromptResult.cancelled), (.mismatch, .rejected), (.wrongPasscode, .rejected)]
    )
    func notConfirmed(presentation: Presentation, result: PromptResult) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let before = self.phone.disk.contents
        let calls = self.phone.server.withState(\.calls)
        let life = try self.phone.life()
        #expect(await life.unlock(presentation) == .prompted(result))
        #expect(life.isLocked)
        #expect(self.phone.server.withState(\.calls) == calls)
        #expect(self.phone.disk.contents == before)
        #expect(await life.unlock() == .done)
    }

    @Test("SB4: a sensor that is locked out says so, and a locked wallet in the safe mode sends no PIN")
    func lockedOut() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let life = try self.phone.life()
        for _ in 0..<4 { #expect(await life.unlock(.mismatch) == .prompted(.rejected)) }
        #expect(await life.unlock(.mismatch) == .prompted(.lockedOut))
        #expect(await life.unlock() == .prompted(.lockedOut))
        let calls = self.phone.server.withState(\.calls)
        #expect(await life.check(TestPhone.newPIN) == .failed)
        #expect(self.phone.server.withState(\.calls) == calls)
    }

    @Test("SB9: an item that is gone is said to be gone, and nothing is deleted for it")
    func itemGone() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let before = self.phone.disk.contents
        self.phone.keychain.withState { $0.items = [:] }
        let life = try self.phone.life()
        #expect(await life.unlock() == .itemGone)
        #expect(self.phone.disk.contents == before)
        #expect(await life.perform(.wipe) == .done)
        #expect(self.phone.disk.contents[.state] == nil)
        #expect(self.phone.disk.contents[.accessData] == nil)
    }

    @Test(
        "nobody enrolled for a while is not said to be a loss, and the item opens afterwards",
        arguments: [BiometricMode.fallback, .safe]
    )
    func nobodyEnrolled(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let before = self.phone.disk.contents
        let enrolled = self.phone.keychain.withState { state in
            defer { state.biometrics = .none }
            return state.biometrics
        }
        #expect(try await self.phone.life().unlock() == .prompted(.unavailable))
        #expect(self.phone.disk.contents == before)
        self.phone.keychain.withState { $0.biometrics = enrolled }
        #expect(try await self.phone.life().unlock() == .done)
    }

    @Test("an item of another length is no item of ours")
    func itemOfAnotherLength() async throws {
        let name = try #require(try await EngineUnderTest.setUp(self.phone, .safe).registration?.biometrics?.item.name)
        self.phone.keychain.withState { $0.items[name]?.secret = [1, 2, 3] }
        #expect(try await self.phone.life().unlock() == .itemGone)
    }

    @Test("in the fallback mode the PIN goes on without an item that is gone, and turns biometrics off")
    func itemGoneInFallback() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .fallback)
        self.phone.keychain.withState { $0.items = [:] }
        let life = try self.phone.life()
        #expect(await life.unlock() == .itemGone)
        #expect(life.mode == .fallback)
        #expect(await life.check(TestPhone.oldPIN) == .done)
        #expect(life.mode == .off)
    }

    @Test("SB7: turning off removes slot and item and costs no attempt", arguments: [BiometricMode.fallback, .safe])
    func disable(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let life = try self.phone.life()
        #expect(await life.unlock() == .done)
        let instructions = self.phone.server.withState { $0.calls.count { $0 == "instruct" } }
        #expect(await life.disable() == .done)
        #expect(self.phone.server.withState { $0.calls.count { $0 == "instruct" } } == instructions)
        #expect(life.mode == .off)
        #expect(self.phone.items.isEmpty)
        #expect(try await self.phone.opens(with: TestPhone.oldPIN))
        let state = try LocalStore(self.phone.disk).state
        #expect(state.registration?.biometrics == nil)
        #expect(state.version == 1)
    }

    @Test("SB7: in the safe mode nothing turns biometrics off or changes the PIN before a prompt of its own")
    func promptOfItsOwn() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let life = try self.phone.life()
        #expect(await life.unlock() == .done)
        let before = self.phone.disk.contents[.state]
        #expect(await life.perform(.disableBiometrics) == .failed)
        #expect(await life.prompt(.disable, .cancel) == .prompted(.cancelled))
        #expect(await life.perform(.disableBiometrics) == .failed)
        // The PIN is proven by the check value; without the item there is no slot to make for a new one.
        #expect(await life.check(TestPhone.oldPIN) == .done)
        let change = Effect.changePIN(
            old: EngineUnderTest.entry(TestPhone.oldPIN),
            new: EngineUnderTest.entry(TestPhone.newPIN)
        )
        #expect(await life.perform(change) == .failed)
        #expect(self.phone.disk.contents[.state] == before)
        #expect(try await self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test("SB10: an item is opened by what it was made for and by nothing else")
    func methods() async throws {
        for (method, opening, refused) in [
            (UnlockMethod.biometric, [Presentation.match], [Presentation.passcode]),
            (.passcode, [.passcode], [.match]),
            (.either, [.match, .passcode], []),
        ] {
            let phone = TestPhone()
            let life = try await EngineUnderTest.setUp(phone)
            #expect(await life.enable(method) == .done)
            #expect(life.engine.facts().unlockMethod == method)
            for presentation in opening { #expect(try await phone.life().unlock(presentation) == .done) }
            for presentation in refused { #expect(try await phone.life().unlock(presentation) == .prompted(.rejected)) }
        }
    }

    @Test("a phone that cannot guard an item leaves everything as it was")
    func notPossible() async throws {
        let life = try await EngineUnderTest.setUp(self.phone)
        self.phone.keychain.withState { $0.biometrics = .notEnrolled }
        #expect(await life.enable() == .failed)
        #expect(life.mode == .off)
        #expect(try await self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test("turning on again replaces the item, in either mode", arguments: [BiometricMode.fallback, .safe])
    func again(mode: BiometricMode) async throws {
        let life = try await EngineUnderTest.setUp(self.phone, mode)
        let first = self.phone.items
        if mode == .safe {
            // Without the present item the PIN slot cannot be sealed under another.
            #expect(await life.enable() == .failed)
            #expect(await life.prompt(.enable) == .done)
        }
        #expect(await life.enable(.either) == .done)
        #expect(self.phone.items.count == 1)
        #expect(self.phone.items != first)
        #expect(try await self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test("nothing of the keychain and no share is in the files")
    func storage() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let all = self.phone.disk.contents.values.map { String(decoding: $0, as: UTF8.self) }.joined()
        let record = try #require(self.phone.server.onlyRecord)
        for secret in self.phone.keychain.withState({ $0.items.values.map(\.secret) }) {
            #expect(!all.contains(secret.hex))
        }
        #expect(!all.contains(record.presenceShare.exposedBytes().hex))
        #expect(!all.contains(record.unlockShare.exposedBytes().hex))
    }

    @Test("a lock leaves no key, share or open item in memory")
    func lock() async throws {
        let life = try await EngineUnderTest.setUp(self.phone, .safe)
        _ = await life.prompt(.changePIN)
        weak let item = life.engine.unlocked?.item
        weak let unlocked = life.engine.unlocked
        #expect(item != nil && unlocked != nil)
        _ = await life.perform(.lock)
        #expect(item == nil && unlocked == nil)
        #expect(life.engine.connection?.session?.presenceShare == nil)
        #expect(await life.perform(.disableBiometrics) == .failed)
        #expect(await life.enable() == .failed)
        #expect(life.mode == .safe)
    }
}
