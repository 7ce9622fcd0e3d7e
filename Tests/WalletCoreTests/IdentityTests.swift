import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Linking the recovery code")
struct IdentityTests {
    let phone = FakePhone()

    private func code() throws -> RecoveryCode { try #require(RecoveryCode("a-person".utf8)) }

    @Test("a linked recovery code is stored by the wallet and by the server")
    func link() async throws {
        _ = try await EngineUnderTest.setUp(self.phone)
        let app = try self.phone.process()
        let entry = EngineUnderTest.entry(FakePhone.oldPIN)
        #expect(await app.perform(.checkPIN(entry)) == .done)
        #expect(!app.engine.facts().hasPID)
        #expect(await app.perform(.linkRecoveryCode(entry, try self.code())) == .done)
        #expect(app.engine.facts().hasPID)
        #expect(try self.phone.process().engine.facts().hasPID)
        #expect(self.phone.server.onlyRecord?.recoveryCode == (try self.code()))
        #expect(try LocalStore(self.phone.disk).state.version == LocalState.currentVersion)
    }

    @Test("a wrong PIN links nothing")
    func wrongPIN() async throws {
        let app = try await EngineUnderTest.setUp(self.phone)
        let entry = EngineUnderTest.entry(FakePhone.newPIN)
        #expect(await app.perform(.linkRecoveryCode(entry, try self.code())) == .wrong)
        #expect(!app.engine.facts().hasPID)
        #expect(self.phone.server.onlyRecord?.recoveryCode == nil)
    }

    @Test("an answer that claims success is accepted only after the same connection has proven the server")
    func forged() async throws {
        _ = try await EngineUnderTest.setUp(self.phone)
        let app = try self.phone.process()
        let entry = EngineUnderTest.entry(FakePhone.oldPIN)
        #expect(await app.perform(.checkPIN(entry)) == .done)
        await app.engine.disconnect()
        self.phone.server.withState { state in
            state.forge = { result in
                guard case .instruct = result else { return result }
                return .instruct(.recoveryCodeLinked)
            }
        }
        let before = self.phone.disk.contents[.state]
        #expect(await app.perform(.linkRecoveryCode(entry, try self.code())) == .failed)
        #expect(self.phone.disk.contents[.state] == before)
        self.phone.server.withState { $0.forge = nil }
        await app.engine.disconnect()
        #expect(await app.perform(.linkRecoveryCode(entry, try self.code())) == .done)
        #expect(self.phone.server.onlyRecord?.wrongAttempts == 0)
    }

    @Test("after a crash at any point linking can be repeated and completes")
    func crashAtAnyPoint() async throws {
        let uncut = FakePhone()
        _ = try await EngineUnderTest.setUp(uncut)
        uncut.crashPoint.arm(nil)
        let entry = EngineUnderTest.entry(FakePhone.oldPIN)
        #expect(await (try uncut.process()).perform(.checkPIN(entry)) == .done)
        #expect(await (try uncut.process()).perform(.linkRecoveryCode(entry, try self.code())) == .done)
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = FakePhone()
            _ = try await EngineUnderTest.setUp(phone)
            phone.crashPoint.arm(cut)
            for _ in 0..<2 {
                let app = try phone.process()
                let entry = EngineUnderTest.entry(FakePhone.oldPIN)
                _ = await app.perform(.linkRecoveryCode(entry, try self.code()))
                phone.crashPoint.arm(nil)
            }
            #expect(try phone.process().engine.facts().hasPID, "\(cut)")
            #expect(phone.server.onlyRecord?.recoveryCode != nil, "\(cut)")
        }
    }
}
