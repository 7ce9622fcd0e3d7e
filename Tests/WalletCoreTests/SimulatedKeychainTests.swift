import WalletFlows
import SimulatedPhone
import Lab
import TestSupport
import Testing
import Vocabulary

@testable import WalletCore

@Suite("The wallet engine on a simulated phone")
struct SimulatedKeychainTests {
    private let folder = TemporaryFolder()
    private let phone = FakePhone()

    /// A process of the app on the phone in the folder, with this test's disk and server.
    private func process() throws -> EngineUnderTest {
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

    @Test("all changes of mode and PIN work with the simulated keychain, across processes")
    func everything() async throws {
        _ = try LabAuthority.create(in: self.folder.file("authority"))
        _ = await (try self.process()).engine.perform(.enroll(EngineUnderTest.entry(FakePhone.oldPIN)))
        var app = try self.process()
        #expect(await app.check(FakePhone.oldPIN) == .done)
        #expect(await app.enable() == .done)
        app = try self.process()
        #expect(await app.unlock(.mismatch) == .prompted(.rejected))
        #expect(await app.unlock() == .done)
        self.phone.server.withState { $0.wantsSafeMode = true }
        app = try self.process()
        _ = await app.perform(.askStatus)
        #expect(await app.migrate() == .done)
        app = try self.process()
        #expect(await app.unlock() == .done)
        #expect(await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN) == .done)
        self.phone.server.withState { $0.wantsSafeMode = false }
        app = try self.process()
        #expect(await app.unlock() == .done)
        #expect(app.mode == .fallback)
        #expect(await app.disable() == .done)
        #expect(try app.engine.device.keychain.names().isEmpty)
        app = try self.process()
        #expect(await app.check(FakePhone.newPIN) == .done)
    }
}
