import WalletFlows
import Secrets
import Testing
import Vocabulary

@testable import WalletCore

@Suite("Biometrics in both modes")
struct BiometricsTests {
    let phone = FakePhone()

    @Test("SB1: in the safe mode PIN and unlock share open nothing without the keychain item")
    func enableSafe() async throws {
        let app = try await EngineUnderTest.setUp(self.phone, .safe)
        let record = try #require(self.phone.server.onlyRecord)
        let registration = try #require(app.registration)
        let walletID = registration.walletID
        let pair = try #require(registration.pairs.first)
        let entry = EngineUnderTest.entry(FakePhone.oldPIN)
        #expect(throws: SealBroken.self) {
            _ = try pair.open(with: entry, share: record.unlockShare, walletID: walletID).count
        }
        let biometrics = try #require(registration.biometrics)
        let item = try #require(self.phone.openItem(biometrics.item))
        let bare = try pair.unsealed(with: item, walletID: walletID)
        #expect(try bare.open(with: entry, share: record.unlockShare, walletID: walletID).count == 32)
    }

    @Test("in the fallback mode the PIN unlocks without the item, and the item without the PIN")
    func enableFallback() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .fallback)
        #expect(try await self.phone.process().check(FakePhone.oldPIN) == .done)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        #expect(!app.isLocked)
        #expect(app.engine.unlocked?.unlockShare == nil)
    }

    @Test("SB2: a confirmed prompt and a session unlock the wallet", arguments: [BiometricMode.fallback, .safe])
    func unlock(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let app = try self.phone.process()
        #expect(app.isLocked)
        #expect(await app.unlock() == .done)
        #expect(!app.isLocked)
        #expect(self.phone.keychain.withState(\.prompts) == [.unlock])
        #expect(self.phone.server.onlyRecord?.wrongAttempts == 0)
    }

    @Test(
        "SB3, SB4: without a confirmed prompt nothing is sent and nothing changes",
        arguments: [(Presentation.cancel, PromptResult.cancelled), (.mismatch, .rejected), (.wrongPasscode, .rejected)]
    )
    func notConfirmed(presentation: Presentation, result: PromptResult) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let before = self.phone.disk.contents
        let calls = self.phone.server.withState(\.calls)
        let app = try self.phone.process()
        #expect(await app.unlock(presentation) == .prompted(result))
        #expect(app.isLocked)
        #expect(self.phone.server.withState(\.calls) == calls)
        #expect(self.phone.disk.contents == before)
        #expect(await app.unlock() == .done)
    }

    @Test("SB4: a lockout of the sensor is reported, and a locked wallet in the safe mode sends no PIN")
    func lockedOut() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        for _ in 0..<4 { #expect(await app.unlock(.mismatch) == .prompted(.rejected)) }
        #expect(await app.unlock(.mismatch) == .prompted(.lockedOut))
        #expect(await app.unlock() == .prompted(.lockedOut))
        let calls = self.phone.server.withState(\.calls)
        #expect(await app.check(FakePhone.newPIN) == .failed)
        #expect(self.phone.server.withState(\.calls) == calls)
    }

    @Test("with the host's setting, an enrollment ends the item in the fallback mode, and the next PIN renews it, once")
    func enrolled() async throws {
        var settings = Wallet.Settings()
        settings.pinAfterEnrollment = true
        let app = try await EngineUnderTest.setUp(self.phone, .fallback, settings: settings)
        let item = app.registration?.biometrics?.item
        self.phone.keychain.enroll()
        _ = await app.perform(.lock)
        #expect(await app.unlock() == .itemGone)
        #expect(await app.check("135790") == .wrong)
        #expect(await app.unlock() == .itemGone, "a wrong PIN renews nothing")
        #expect(await app.check(FakePhone.oldPIN) == .done)
        #expect(app.mode == .fallback && app.registration?.biometrics?.item != item)
        _ = await app.perform(.lock)
        #expect(await app.unlock() == .done)
        self.phone.keychain.enroll()
        _ = await app.perform(.lock)
        #expect(await app.unlock() == .itemGone, "the renewed item ends with the next enrollment")
    }

    @Test("without the setting, and in the safe mode with it, an enrollment ends no item")
    func enrolledAnyway() async throws {
        var settings = Wallet.Settings()
        let fallback = try await EngineUnderTest.setUp(self.phone, .fallback, settings: settings)
        self.phone.keychain.enroll()
        _ = await fallback.perform(.lock)
        #expect(await fallback.unlock() == .done)
        let other = FakePhone()
        settings.pinAfterEnrollment = true
        let safe = try await EngineUnderTest.setUp(other, .safe, settings: settings)
        other.keychain.enroll()
        _ = await safe.perform(.lock)
        #expect(await safe.unlock() == .done)
        // Back in the fallback mode, the setting applies.
        other.server.withState { $0.wantsSafeMode = false }
        _ = await safe.perform(.lock)
        #expect(await safe.unlock() == .done)
        #expect(safe.mode == .fallback)
        other.keychain.enroll()
        _ = await safe.perform(.lock)
        #expect(await safe.unlock() == .itemGone)
    }

    @Test("SB9: a missing item is reported, and nothing is deleted")
    func itemGone() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let before = self.phone.disk.contents
        self.phone.keychain.withState { $0.items = [:] }
        let app = try self.phone.process()
        #expect(await app.unlock() == .itemGone)
        #expect(self.phone.disk.contents == before)
        #expect(await app.perform(.wipe) == .done)
        #expect(self.phone.disk.contents[.state] == nil)
        #expect(self.phone.disk.contents[.accessData] == nil)
    }

    @Test(
        "a temporary lack of enrolled biometrics is not reported as a missing item, and the item opens afterwards",
        arguments: [BiometricMode.fallback, .safe]
    )
    func nobodyEnrolled(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let before = self.phone.disk.contents
        let enrolled = self.phone.keychain.withState { state in
            defer { state.biometrics = .none }
            return state.biometrics
        }
        #expect(try await self.phone.process().unlock() == .prompted(.unavailable))
        #expect(self.phone.disk.contents == before)
        self.phone.keychain.withState { $0.biometrics = enrolled }
        #expect(try await self.phone.process().unlock() == .done)
    }

    @Test("an item of another length counts as missing")
    func itemOfAnotherLength() async throws {
        let name = try #require(try await EngineUnderTest.setUp(self.phone, .safe).registration?.biometrics?.item.name)
        self.phone.keychain.withState { $0.items[name]?.secret = [1, 2, 3] }
        #expect(try await self.phone.process().unlock() == .itemGone)
    }

    @Test("in the fallback mode the PIN unlocks without a missing item and turns biometrics off")
    func itemGoneInFallback() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .fallback)
        self.phone.keychain.withState { $0.items = [:] }
        let app = try self.phone.process()
        #expect(await app.unlock() == .itemGone)
        #expect(app.mode == .fallback)
        #expect(await app.check(FakePhone.oldPIN) == .done)
        #expect(app.mode == .off)
    }

    @Test(
        "SB7: turning biometrics off removes slot and item and costs no attempt",
        arguments: [BiometricMode.fallback, .safe]
    )
    func disable(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        let instructions = self.phone.server.withState { $0.calls.count { $0 == "instruct" } }
        #expect(await app.disable() == .done)
        #expect(self.phone.server.withState { $0.calls.count { $0 == "instruct" } } == instructions)
        #expect(app.mode == .off)
        #expect(self.phone.items.isEmpty)
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
        let state = try LocalStore(self.phone.disk).state
        #expect(state.registration?.biometrics == nil)
        #expect(state.version == LocalState.currentVersion)
    }

    @Test("SB7: in the safe mode turning biometrics off and changing the PIN each require a prompt")
    func separatePrompt() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        let before = self.phone.disk.contents[.state]
        #expect(await app.perform(.disableBiometrics) == .failed)
        #expect(await app.prompt(.disable, .cancel) == .prompted(.cancelled))
        #expect(await app.perform(.disableBiometrics) == .failed)
        // The check value proves the PIN; without the item no slot can be made for a new PIN.
        #expect(await app.check(FakePhone.oldPIN) == .done)
        let change = Effect.changePIN(
            old: EngineUnderTest.entry(FakePhone.oldPIN),
            new: EngineUnderTest.entry(FakePhone.newPIN)
        )
        #expect(await app.perform(change) == .failed)
        #expect(self.phone.disk.contents[.state] == before)
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("SB10: an item is opened only by the method for which it was created")
    func methods() async throws {
        for (method, opening, refused) in [
            (UnlockMethod.biometric, [Presentation.match], [Presentation.passcode]),
            (.passcode, [.passcode], [.match]),
            (.either, [.match, .passcode], []),
        ] {
            let phone = FakePhone()
            let app = try await EngineUnderTest.setUp(phone)
            #expect(await app.enable(method) == .done)
            #expect(app.engine.facts().unlockMethod == method)
            for presentation in opening { #expect(try await phone.process().unlock(presentation) == .done) }
            for presentation in refused {
                #expect(try await phone.process().unlock(presentation) == .prompted(.rejected))
            }
        }
    }

    @Test("a phone that cannot guard an item changes nothing")
    func notPossible() async throws {
        let app = try await EngineUnderTest.setUp(self.phone)
        self.phone.keychain.withState { $0.biometrics = .notEnrolled }
        #expect(await app.enable() == .failed)
        #expect(app.mode == .off)
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("turning biometrics on again replaces the item", arguments: [BiometricMode.fallback, .safe])
    func again(mode: BiometricMode) async throws {
        let app = try await EngineUnderTest.setUp(self.phone, mode)
        let first = self.phone.items
        if mode == .safe {
            // Without the current item the PIN slot cannot be sealed under another.
            #expect(await app.enable() == .failed)
            #expect(await app.prompt(.enable) == .done)
        }
        #expect(await app.enable(.either) == .done)
        #expect(self.phone.items.count == 1)
        #expect(self.phone.items != first)
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("the files contain no keychain item and no share")
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

    @Test("a lock leaves no key, share or opened item in memory")
    func lock() async throws {
        let app = try await EngineUnderTest.setUp(self.phone, .safe)
        _ = await app.prompt(.changePIN)
        weak let item = app.engine.unlocked?.item
        weak let unlocked = app.engine.unlocked
        #expect(item != nil && unlocked != nil)
        _ = await app.perform(.lock)
        #expect(item == nil && unlocked == nil)
        #expect(app.engine.connection?.session?.presenceShare == nil)
        #expect(await app.perform(.disableBiometrics) == .failed)
        #expect(await app.enable() == .failed)
        #expect(app.mode == .safe)
    }
}
