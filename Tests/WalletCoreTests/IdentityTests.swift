import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("The person's identity")
struct IdentityTests {
    let phone = TestPhone()

    private func code() throws -> RecoveryCode { try #require(RecoveryCode(Array("a person".utf8))) }

    @Test("a linked recovery code is remembered by later lives, and by the server")
    func link() async throws {
        _ = try await EngineUnderTest.setUp(self.phone)
        let life = try self.phone.life()
        let entry = EngineUnderTest.entry(TestPhone.oldPIN)
        #expect(await life.perform(.checkPIN(entry)) == .done)
        #expect(!life.engine.facts().hasPID)
        #expect(await life.perform(.linkRecoveryCode(entry, try self.code())) == .done)
        #expect(life.engine.facts().hasPID)
        #expect(try self.phone.life().engine.facts().hasPID)
        #expect(self.phone.server.onlyRecord?.recoveryCode == Array("a person".utf8))
        #expect(try LocalStore(self.phone.disk).state.version == 2)
    }

    @Test("a wrong PIN links nothing")
    func wrongPIN() async throws {
        let life = try await EngineUnderTest.setUp(self.phone)
        let entry = EngineUnderTest.entry(TestPhone.newPIN)
        #expect(await life.perform(.linkRecoveryCode(entry, try self.code())) == .wrong)
        #expect(!life.engine.facts().hasPID)
        #expect(self.phone.server.onlyRecord?.recoveryCode == nil)
    }

    @Test("an answer that says linked is not believed before the same connection has proven itself")
    func forged() async throws {
        _ = try await EngineUnderTest.setUp(self.phone)
        let life = try self.phone.life()
        let entry = EngineUnderTest.entry(TestPhone.oldPIN)
        #expect(await life.perform(.checkPIN(entry)) == .done)
        await life.engine.disconnect()
        self.phone.server.withState { state in
            state.forge = { result in
                guard case .instruct = result else { return result }
                return .instruct(.recoveryCodeLinked)
            }
        }
        let before = self.phone.disk.contents[.state]
        #expect(await life.perform(.linkRecoveryCode(entry, try self.code())) == .failed)
        #expect(self.phone.disk.contents[.state] == before)
        self.phone.server.withState { $0.forge = nil }
        await life.engine.disconnect()
        #expect(await life.perform(.linkRecoveryCode(entry, try self.code())) == .done)
        #expect(self.phone.server.onlyRecord?.wrongAttempts == 0)
    }

    @Test("cut anywhere, linking is repeated and then done")
    func cutEverywhere() async throws {
        let uncut = TestPhone()
        _ = try await EngineUnderTest.setUp(uncut)
        uncut.crashPoint.arm(nil)
        let entry = EngineUnderTest.entry(TestPhone.oldPIN)
        #expect(await (try uncut.life()).perform(.checkPIN(entry)) == .done)
        #expect(await (try uncut.life()).perform(.linkRecoveryCode(entry, try self.code())) == .done)
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = TestPhone()
            _ = try await EngineUnderTest.setUp(phone)
            phone.crashPoint.arm(cut)
            for _ in 0..<2 {
                let life = try phone.life()
                let entry = EngineUnderTest.entry(TestPhone.oldPIN)
                _ = await life.perform(.linkRecoveryCode(entry, try self.code()))
                phone.crashPoint.arm(nil)
            }
            #expect(try phone.life().engine.facts().hasPID, "\(cut)")
            #expect(phone.server.onlyRecord?.recoveryCode != nil, "\(cut)")
        }
    }
}
