import WalletFlows
import Secrets
import Testing
import Vocabulary
import Wire

@testable import WalletCore

@Suite("Changes between the biometric modes")
struct BiometricModesTests {
    let phone = FakePhone()

    /// A wallet in the fallback mode after the server has set the flag for the safe mode.
    private func beforeMigration() async throws -> EngineUnderTest {
        _ = try await EngineUnderTest.setUp(self.phone, .fallback)
        self.phone.server.withState { $0.wantsSafeMode = true }
        return try self.phone.process()
    }

    @Test("SB5: the migration adds a new item, seals the PIN slot under it and removes the old item")
    func migrate() async throws {
        let app = try await self.beforeMigration()
        let before = try #require(app.registration)
        #expect(await app.migrate() == .done)
        #expect(app.mode == .safe)
        let after = try #require(app.registration)
        #expect(after.biometrics?.item != before.biometrics?.item)
        #expect(after.pairs.map(\.slot) != before.pairs.map(\.slot))
        #expect(self.phone.items == [after.biometrics?.item.name])
        #expect(self.phone.keychain.withState(\.prompts) == [.migrate])
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("SB5: the migration runs once")
    func once() async throws {
        let app = try await self.beforeMigration()
        #expect(await app.migrate() == .done)
        let state = self.phone.disk.contents[.state]
        #expect(await app.perform(.migrateBiometrics(.match)) == .done)
        #expect(self.phone.disk.contents[.state] == state)
        #expect(self.phone.keychain.withState(\.prompts) == [.migrate])
    }

    @Test(
        "SB5: without a confirmed prompt the fallback mode remains and no new item is left in the keychain",
        arguments: [Presentation.cancel, .mismatch]
    )
    func notConfirmed(presentation: Presentation) async throws {
        let app = try await self.beforeMigration()
        let items = self.phone.items
        let state = self.phone.disk.contents[.state]
        #expect(await app.migrate(presentation) != .done)
        #expect(!app.isLocked)
        #expect(self.phone.items == items)
        #expect(self.phone.disk.contents[.state] == state)
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("SB5: an item that does not read back as written is not used")
    func readBack() async throws {
        let app = try await self.beforeMigration()
        self.phone.keychain.withState { $0.isBroken = true }
        let state = self.phone.disk.contents[.state]
        let items = self.phone.items
        #expect(await app.migrate() == .failed)
        #expect(self.phone.disk.contents[.state] == state)
        #expect(self.phone.items == items)
        self.phone.keychain.withState { $0.isBroken = false }
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("SB5: neither a biometric alone nor a PIN alone migrates")
    func both() async throws {
        let app = try await self.beforeMigration()
        #expect(await app.perform(.migrateBiometrics(.match)) == .failed)
        #expect(await app.unlock() == .done)
        #expect(await app.perform(.migrateBiometrics(.match)) == .failed)
        #expect(app.mode == .fallback)
        #expect(self.phone.items == [try #require(app.registration?.biometrics).item.name])
        let next = try self.phone.process()
        #expect(await next.check(FakePhone.oldPIN) == .done)
        #expect(next.mode == .fallback)
    }

    @Test("SB8: the return to the fallback mode keeps slot and item, and the PIN alone unlocks again")
    func returnToFallback() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let items = self.phone.items
        self.phone.server.withState { $0.wantsSafeMode = false }
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        #expect(app.mode == .fallback)
        #expect(self.phone.items == items)
        #expect(self.phone.keychain.withState(\.prompts) == [.unlock])
        #expect(try await self.phone.process().check(FakePhone.oldPIN) == .done)
        // The item does not stay open for operations that require another prompt.
        #expect(app.engine.unlocked?.item == nil)
    }

    @Test("SB8: the wallet unlocks after each of several changes of the mode")
    func backAndForth() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        for wantsSafe in [false, true, false, true] {
            self.phone.server.withState { $0.wantsSafeMode = wantsSafe }
            let app = try self.phone.process()
            #expect(await (wantsSafe ? app.migrate() : app.unlock()) == .done)
            #expect(app.mode == (wantsSafe ? .safe : .fallback))
            #expect(try await self.phone.opens(with: FakePhone.oldPIN))
        }
    }

    @Test("SB11: the slot of the new PIN is sealed under the item, and the next prompt unlocks with it")
    func changePIN() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        #expect(await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN) == .done)
        let registration = try #require(app.registration)
        let biometrics = try #require(registration.biometrics)
        let item = try #require(self.phone.openItem(biometrics.item))
        #expect(registration.pairs.count == 2)
        for pair in registration.pairs {
            #expect(throws: Never.self) { try pair.unsealed(with: item, walletID: registration.walletID) }
        }
        #expect(try await self.phone.opens(with: FakePhone.newPIN))
        #expect(try LocalStore(self.phone.disk).state.registration?.pairs.count == 1)
        #expect(try await !self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("a PIN change before turning biometrics off remains valid afterwards")
    func changeThenDisable() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        #expect(await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN) == .done)
        #expect(await app.disable() == .done)
        #expect(try await self.phone.opens(with: FakePhone.newPIN))
        #expect(try await !self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test(
        "a wallet unlocked by a biometric verifies a PIN by the check value",
        arguments: [BiometricMode.fallback, .safe]
    )
    func checkValue(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        #expect(await app.check(FakePhone.newPIN) == .wrong)
        #expect(await app.check(FakePhone.oldPIN) == .done)
        self.phone.server.withState { state in
            state.forge = { result in
                guard case .instruct(.pinValid) = result else { return result }
                return .instruct(.pinValid(unlockShare: .random()))
            }
        }
        #expect(await app.check(FakePhone.oldPIN) == .failed)
    }
}
