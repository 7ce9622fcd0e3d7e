import Secrets
import Statements
import Synchronization
import Testing
import Vocabulary
import WalletFlows

@testable import WalletCore

@Suite("Receipts, in the wallet")
struct WalletReceiptTests {
    private let phone = FakePhone()

    init() {
        let key = ReceiptSigningKey(id: 1, seed: .random(count: 48))
        self.phone.server.withState { $0.receiptKeys = [key] }
    }

    private var notice: AttemptNotice? { try? LocalStore(self.phone.disk).receipts.notice }

    @Test("lost replies, a right PIN judged twice, a PIN change and a late message are no tampering")
    func lost() async throws {
        let app = try await EngineUnderTest.setUp(self.phone)
        for pin in ["135790", FakePhone.oldPIN, "135790", FakePhone.oldPIN] {
            self.phone.server.withState { $0.losesNext = ["instruct"] }
            _ = await app.check(pin)
        }
        self.phone.server.withState { $0.losesNext = ["instruct"] }
        #expect(await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN) == .done)
        self.phone.server.withState { state in
            state.keepsLate = true
            state.reachable = false
        }
        #expect(await app.check(FakePhone.newPIN) == .failed)
        self.phone.server.withState { $0.reachable = true }
        #expect(await app.check(FakePhone.newPIN) == .done)
        self.phone.server.deliverLate()
        #expect(await app.check(FakePhone.newPIN) == .done)
        #expect(app.engine.findings.isEmpty && self.notice?.tampering ?? [] == [])
    }

    @Test("a PIN is not sent if it cannot be counted on the disk, and the next launch finds no tampering")
    func notCounted() async throws {
        let app = try await EngineUnderTest.setUp(self.phone)
        self.phone.disk.failing.withLock { $0 = .receipts }
        #expect(await app.check(FakePhone.oldPIN) == .failed)
        self.phone.disk.failing.withLock { $0 = nil }
        let next = try EngineUnderTest(self.phone)
        #expect(await next.check(FakePhone.oldPIN) == .done)
        #expect(next.engine.findings.isEmpty)
    }

    @Test("attempts from elsewhere are an event, and are shown after the unlock")
    func elsewhere() async throws {
        _ = try await self.phone.setUp()
        self.phone.server.withState { state in
            for id in state.records.keys {
                state.records[id]?.number += 2
                state.records[id]?.wrongAttempts = 2
            }
        }
        let app = try EngineUnderTest(self.phone)
        #expect(await app.check(FakePhone.oldPIN) == .done)
        #expect(app.engine.takeFindings() == [.unexplainedAttempts])
        #expect(app.engine.facts().attemptNotice?.wrongPINs == 2)
        #expect(app.engine.facts().attemptNotice?.tampering == [.unexplainedAttempts])
        #expect(self.notice == app.engine.facts().attemptNotice, "kept until it is shown")
    }

    @Test(
        "a session suggests attempts from elsewhere before any PIN is entered, again until a receipt decides",
        arguments: [BiometricMode.fallback, .safe]
    )
    func suggested(mode: BiometricMode) async throws {
        let app = try await EngineUnderTest.setUp(self.phone, mode)
        #expect(await app.check(FakePhone.oldPIN) == .done)
        self.phone.server.withState { state in
            for id in state.records.keys {
                state.records[id]?.number += 2
                state.records[id]?.wrongAttempts = 2
            }
        }
        let before = try LocalStore(self.phone.disk).receipts
        for _ in 0..<2 {
            _ = await app.perform(.lock)
            #expect(await app.unlock() == .done)
            let hint = try #require(app.engine.facts().attemptNotice?.hint)
            #expect(hint.finding == .unexplainedAttempts && hint.wrongPINs == 2 && hint.lastWrong != nil)
            app.engine.noticeShown()
            #expect(app.engine.facts().attemptNotice == nil)
        }
        #expect(try LocalStore(self.phone.disk).receipts == before, "a hint is not kept")
        #expect(app.engine.takeFindings().isEmpty)
        _ = await app.perform(.lock)
        #expect(await app.unlock() == .done)
        #expect(await app.check(FakePhone.oldPIN) == .done)
        #expect(app.engine.takeFindings() == [.unexplainedAttempts])
        #expect(app.engine.facts().attemptNotice?.hint == nil)
        app.engine.noticeShown()
        _ = await app.perform(.lock)
        #expect(await app.unlock() == .done)
        #expect(app.engine.facts().attemptNotice == nil)
    }

    @Test(
        "the wallet's own attempts, answered or not, judged or not, are no reason for a hint",
        arguments: [BiometricMode.fallback, .safe]
    )
    func ownAttempts(mode: BiometricMode) async throws {
        let app = try await EngineUnderTest.setUp(self.phone, mode)
        func hint() async -> AttemptHint? {
            _ = await app.perform(.lock)
            #expect(await app.unlock() == .done)
            return app.engine.facts().attemptNotice?.hint
        }
        #expect(await hint() == nil)
        for call in ["instruct", "hello", "open session"] {
            self.phone.server.endConnections()
            self.phone.server.withState { $0.losesNext = [call] }
            _ = await app.check("135790")
            #expect(await hint() == nil, "the answer to \(call) was lost")
        }
        self.phone.server.withState { state in
            state.losesNext = ["instruct"]
            state.leavesAtLoss = true
        }
        #expect(await app.check(FakePhone.oldPIN) == .failed)
        self.phone.server.withState { $0.reachable = true }
        #expect(await hint() == nil, "judged, and never answered")
        let next = try EngineUnderTest(self.phone)
        #expect(await next.unlock() == .done)
        #expect(next.engine.facts().attemptNotice?.hint == nil, "nor after a launch")
    }

    @Test("a wipe forgets the pinned key, and another server's wallet pins its own")
    func wiped() async throws {
        let app = try await EngineUnderTest.setUp(self.phone)
        #expect(await app.perform(.wipe) == .done)
        #expect(self.phone.disk.contents[.receipts] == nil)
        let key = ReceiptSigningKey(id: 1, seed: .random(count: 48))
        self.phone.server.withState { $0.receiptKeys = [key] }
        let next = try await EngineUnderTest.setUp(self.phone)
        #expect(await next.check(FakePhone.oldPIN) == .done)
        #expect(next.engine.findings.isEmpty)
    }
}
