import DeviceInterface
import Secrets
import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("From one biometric mode to the other")
struct BiometricModesTests {
    let phone = TestPhone()

    /// A wallet in the fallback mode that the flag has reached.
    private func beforeMigration() async throws -> EngineUnderTest {
        _ = try await EngineUnderTest.setUp(self.phone, .fallback)
        self.phone.server.withState { $0.wantsSafeMode = true }
        return try self.phone.life()
    }

    @Test("SB5: the migration makes a new item and seals the PIN slot under it; the old item goes")
    func migrate() async throws {
        let life = try await self.beforeMigration()
        let before = try #require(life.registration)
        #expect(await life.migrate() == .done)
        #expect(life.mode == .safe)
        let after = try #require(life.registration)
        #expect(after.biometrics?.item != before.biometrics?.item)
        #expect(after.pairs.map(\.slot) != before.pairs.map(\.slot))
        #expect(self.phone.items == [after.biometrics?.item.name])
        #expect(self.phone.keychain.withState(\.prompts) == [.migrate])
        #expect(try await self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test("SB5: it runs once")
    func once() async throws {
        let life = try await self.beforeMigration()
        #expect(await life.migrate() == .done)
        let state = self.phone.disk.contents[.state]
        #expect(await life.perform(.migrateBiometrics(.match)) == .done)
        #expect(self.phone.disk.contents[.state] == state)
        #expect(self.phone.keychain.withState(\.prompts) == [.migrate])
    }

    @Test(
        "SB5: a prompt that is not confirmed leaves the fallback mode, and nothing in the keychain",
        arguments: [Presentation.cancel, .mismatch]
    )
    func notConfirmed(presentation: Presentation) async throws {
        let life = try await self.beforeMigration()
        let items = self.phone.items
        let state = self.phone.disk.contents[.state]
        #expect(await life.migrate(presentation) != .done)
        #expect(!life.isLocked)
        #expect(self.phone.items == items)
        #expect(self.phone.disk.contents[.state] == state)
        #expect(try await self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test("SB5: an item that reads back otherwise than it was written is not relied on")
    func readBack() async throws {
        let life = try await self.beforeMigration()
        self.phone.keychain.withState { $0.isBroken = true }
        let state = self.phone.disk.contents[.state]
        let items = self.phone.items
        #expect(await life.migrate() == .failed)
        #expect(self.phone.disk.contents[.state] == state)
        #expect(self.phone.items == items)
        self.phone.keychain.withState { $0.isBroken = false }
        #expect(try await self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test("SB5: a finger alone never migrates, nor does a PIN alone")
    func both() async throws {
        let life = try await self.beforeMigration()
        #expect(await life.perform(.migrateBiometrics(.match)) == .failed)
        #expect(await life.unlock() == .done)
        #expect(await life.perform(.migrateBiometrics(.match)) == .failed)
        #expect(life.mode == .fallback)
        #expect(self.phone.items == [try #require(life.registration?.biometrics).item.name])
        let next = try self.phone.life()
        #expect(await next.check(TestPhone.oldPIN) == .done)
        #expect(next.mode == .fallback)
    }

    @Test("SB8: the way back keeps slot and item, and the PIN opens alone again")
    func wayBack() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let items = self.phone.items
        self.phone.server.withState { $0.wantsSafeMode = false }
        let life = try self.phone.life()
        #expect(await life.unlock() == .done)
        #expect(life.mode == .fallback)
        #expect(self.phone.items == items)
        #expect(self.phone.keychain.withState(\.prompts) == [.unlock])
        #expect(try await self.phone.life().check(TestPhone.oldPIN) == .done)
        // The item does not stay open for what asks for a prompt of its own.
        #expect(life.engine.unlocked?.item == nil)
    }

    @Test("SB8: back and forth, the wallet opens in every mode")
    func backAndForth() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        for wantsSafe in [false, true, false, true] {
            self.phone.server.withState { $0.wantsSafeMode = wantsSafe }
            let life = try self.phone.life()
            #expect(await (wantsSafe ? life.migrate() : life.unlock()) == .done)
            #expect(life.mode == (wantsSafe ? .safe : .fallback))
            #expect(try await self.phone.opens(with: TestPhone.oldPIN))
        }
    }

    @Test("SB11: the new PIN's slot is sealed under the item, and the next prompt opens with it")
    func changePIN() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let life = try self.phone.life()
        #expect(await life.unlock() == .done)
        #expect(await life.change(from: TestPhone.oldPIN, to: TestPhone.newPIN) == .done)
        let registration = try #require(life.registration)
        let biometrics = try #require(registration.biometrics)
        let item = try #require(self.phone.openItem(biometrics.item))
        #expect(registration.pairs.count == 2)
        for pair in registration.pairs {
            #expect(throws: Never.self) { try pair.unsealed(with: item, walletID: registration.walletID.value) }
        }
        #expect(try await self.phone.opens(with: TestPhone.newPIN))
        #expect(try LocalStore(self.phone.disk).state.registration?.pairs.count == 1)
        #expect(try await !self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test("a PIN that was changed before biometrics were turned off is the PIN afterwards")
    func changeThenDisable() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let life = try self.phone.life()
        #expect(await life.unlock() == .done)
        #expect(await life.change(from: TestPhone.oldPIN, to: TestPhone.newPIN) == .done)
        #expect(await life.disable() == .done)
        #expect(try await self.phone.opens(with: TestPhone.newPIN))
        #expect(try await !self.phone.opens(with: TestPhone.oldPIN))
    }

    @Test(
        "a wallet that a biometric has opened proves a PIN by the check value",
        arguments: [BiometricMode.fallback, .safe]
    )
    func checkValue(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let life = try self.phone.life()
        #expect(await life.unlock() == .done)
        #expect(await life.check(TestPhone.newPIN) == .wrong)
        #expect(await life.check(TestPhone.oldPIN) == .done)
        self.phone.server.withState { state in
            state.forge = { result in
                guard case .instruct(.pinValid) = result else { return result }
                return .instruct(.pinValid(unlockShare: .random()))
            }
        }
        #expect(await life.check(TestPhone.oldPIN) == .failed)
    }

    @Test("a state file of the form before biometrics opens, and a newer one is left alone")
    func forms() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .off)
        let plain = try #require(self.phone.disk.contents[.state])
        let text = String(decoding: plain, as: UTF8.self)
        #expect(text.contains("\"version\" : 1"))
        #expect(!text.contains("biometrics") && !text.contains("hasPID"))
        let life = try self.phone.life()
        #expect(await life.check(TestPhone.oldPIN) == .done)
        #expect(await life.enable() == .done)
        let sealed = String(decoding: try #require(self.phone.disk.contents[.state]), as: UTF8.self)
        #expect(sealed.contains("\"version\" : 2"))
        let newer = TestDisk(crashPoint: CrashPoint(), files: [.state: Array(#"{"version" : 3}"#.utf8)])
        #expect(throws: StorageError.newerVersion(.state, version: 3)) { try LocalStore(newer) }
    }
}
