import DeviceInterface
import SimulatedPhone
import Lab
import TestSupport
import Testing
import Vocabulary
import WalletFlows

@testable import WalletCore

@Suite("WalletEngine on a simulated phone")
struct SimulatedKeychainTests {
    private let folder = TemporaryFolder()
    private let phone = TestPhone()

    /// A life of the app on the phone in the folder, with this test's disk and server.
    private func life() throws -> EngineUnderTest {
        var profile = DeviceProfile(.android)
        profile.biometrics = .face
        profile.hasPasscode = true
        profile.sensor = .ask
        let device = try SimulatedDevice(
            folder: self.folder.file("device"),
            authorityFolder: self.folder.file("authority"),
            clock: self.phone.clock,
            new: profile
        )
        return try EngineUnderTest(self.phone, on: device)
    }

    @Test("on, migrated, another PIN, back, off: with the rules and the durability of its keychain")
    func everything() async throws {
        _ = try LabAuthority.create(in: self.folder.file("authority"))
        _ = await (try self.life()).engine.perform(.enroll(EngineUnderTest.entry(TestPhone.oldPIN)))
        var life = try self.life()
        #expect(await life.check(TestPhone.oldPIN) == .done)
        #expect(await life.enable() == .done)
        life = try self.life()
        #expect(await life.unlock(.mismatch) == .prompted(.rejected))
        #expect(await life.unlock() == .done)
        self.phone.server.withState { $0.wantsSafeMode = true }
        life = try self.life()
        _ = await life.perform(.askStatus)
        #expect(await life.migrate() == .done)
        life = try self.life()
        #expect(await life.unlock() == .done)
        #expect(await life.change(from: TestPhone.oldPIN, to: TestPhone.newPIN) == .done)
        self.phone.server.withState { $0.wantsSafeMode = false }
        life = try self.life()
        #expect(await life.unlock() == .done)
        #expect(life.mode == .fallback)
        #expect(await life.disable() == .done)
        #expect(try life.engine.device.keychain.names().isEmpty)
        life = try self.life()
        #expect(await life.check(TestPhone.newPIN) == .done)
    }
}
