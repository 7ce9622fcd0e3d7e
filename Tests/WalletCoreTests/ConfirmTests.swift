import WalletFlows
import Synchronization
import Testing
import Vocabulary

@testable import WalletCore

@Suite("Confirmations for the host application")
struct ConfirmTests {
    let phone = FakePhone()

    /// The events of confirmations that an observer received.
    final class Outcomes: Sendable {
        private let events = Mutex<[AppEvent]>([])

        func add(_ event: WalletEvent) {
            guard case .event(let event) = event else { return }
            self.events.withLock { $0.append(event) }
        }

        func take() -> [AppEvent] {
            self.events.withLock { events in
                defer { events = [] }
                return events.filter { $0.name == "confirmed" || $0.name == "declined" }
            }
        }
    }

    /// A wallet in the safe mode, unlocked by a biometric, whose host lets the prompt confirm.
    private func unlocked(_ outcomes: Outcomes = Outcomes()) async throws -> Wallet {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let wallet = try self.phone.wallet(observer: outcomes.add) { $0.confirmsWithPrompt = true }
        #expect(await wallet.launch().step == "UC3.1/1.1")
        return wallet
    }

    /// The number of calls to the server and of prompts so far.
    private var mark: (calls: Int, prompts: Int) {
        (self.phone.server.withState(\.calls).count, self.phone.keychain.withState(\.prompts).count)
    }

    /// The calls to the server and the prompts since then.
    private func traffic(since mark: (calls: Int, prompts: Int)) -> (calls: [String], prompts: [Prompt.Purpose]) {
        (
            Array(self.phone.server.withState(\.calls).dropFirst(mark.calls)),
            Array(self.phone.keychain.withState(\.prompts).dropFirst(mark.prompts))
        )
    }

    @Test("the prompt confirms with one new session and without a PIN attempt")
    func prompt() async throws {
        let outcomes = Outcomes()
        let wallet = try await self.unlocked(outcomes)
        let payment = try ConfirmationRequest(title: "Pay", details: "To Example Shop")
        #expect(try await wallet.confirm(payment).step == "PF2.4/1.5")
        let mark = self.mark
        #expect(try await wallet.perform(.confirm).step == "UC3.1/1.1")
        let traffic = self.traffic(since: mark)
        #expect(traffic.calls == ["hello", "open session"])
        #expect(traffic.prompts == [.confirm])
        #expect(outcomes.take() == [.confirmed(payment)])
        #expect(self.phone.server.onlyRecord?.wrongAttempts == 0)
        #expect(try await wallet.confirm(payment).step == "PF2.4/1.5")
        await #expect(throws: WalletError.cannotConfirm) { try await wallet.confirm(payment) }
    }

    @Test("a wallet that is not set up, locked or in the background asks for nothing")
    func notPossible() async throws {
        let payment = try ConfirmationRequest(title: "Pay")
        let fresh = try FakePhone().wallet()
        _ = await fresh.launch()
        await #expect(throws: WalletError.locked) { try await fresh.confirm(payment) }
        let wallet = try await self.unlocked()
        await wallet.background()
        await #expect(throws: WalletError.cannotConfirm) { try await wallet.confirm(payment) }
        self.phone.keychain.withState { $0.answersPrompts = false }
        let next = try self.phone.wallet()
        #expect(await next.launch().step == "UC2.3/1.2")
        await #expect(throws: WalletError.locked) { try await next.confirm(payment) }
    }

    @Test(
        "a wallet that was revoked or blocked permanently since it was opened confirms nothing",
        arguments: [true, false]
    )
    func refused(isRevoked: Bool) async throws {
        let outcomes = Outcomes()
        let wallet = try await self.unlocked(outcomes)
        let payment = try ConfirmationRequest(title: "Pay")
        _ = try await wallet.confirm(payment)
        if isRevoked {
            self.phone.server.revokeAll(.wallet)
        } else {
            self.phone.server.withState { state in
                for id in state.records.keys { state.records[id]?.isBlockedPermanently = true }
            }
        }
        #expect(try await wallet.perform(.confirm).step == (isRevoked ? "UC1.2/5.1" : "PF2.8/9.1"))
        #expect(outcomes.take() == [.declined(payment)])
        #expect(await wallet.isLocked)
    }

    @Test("an unlocked wallet confirms nothing with a false session", arguments: BiometricForgeryTests.lies)
    func forged(lie: BiometricForgeryTests.Lie) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        let files = self.phone.disk.contents
        BiometricForgeryTests.tell(lie, on: self.phone)
        #expect(await app.perform(.confirmWithBiometrics(.match)) != .done)
        #expect(!app.isLocked)
        #expect(app.mode == .safe)
        for file in [LocalFile.state, .accessData] { #expect(self.phone.disk.contents[file] == files[file]) }
    }

    @Test("a locked wallet confirms nothing, shows no prompt and is not unlocked")
    func locked() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        let mark = self.mark
        #expect(await app.perform(.confirmWithBiometrics(.match)) == .failed)
        let traffic = self.traffic(since: mark)
        #expect(traffic.calls.isEmpty && traffic.prompts.isEmpty)
        #expect(app.isLocked)
    }

    @Test("a confirmation leaves no opened item, and a PIN change afterwards needs another prompt")
    func itemIsNotKept() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        #expect(await app.perform(.confirmWithBiometrics(.match)) == .done)
        #expect(app.engine.unlocked?.item == nil)
        #expect(await app.perform(.disableBiometrics) == .failed)
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("a confirmation by the prompt replaces no share, and the next PIN does")
    func sharesAreNotReplaced() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let app = try self.phone.process()
        #expect(await app.unlock() == .done)
        self.phone.server.refreshShares()
        #expect(await app.perform(.confirmWithBiometrics(.match)) == .done)
        #expect(self.phone.server.withState { !$0.calls.contains("confirm shares") })
        #expect(self.phone.server.onlyRecord?.nextPresenceShare != nil)
        #expect(await app.check(FakePhone.oldPIN) == .done)
        #expect(self.phone.server.onlyRecord?.nextPresenceShare == nil)
        #expect(try await self.phone.opens(with: FakePhone.oldPIN))
    }

    @Test("the session of a confirmation that withdraws the flag ends the safe mode and asks for the PIN")
    func flagWithdrawn() async throws {
        let outcomes = Outcomes()
        let wallet = try await self.unlocked(outcomes)
        let payment = try ConfirmationRequest(title: "Pay")
        _ = try await wallet.confirm(payment)
        self.phone.server.withState { $0.wantsSafeMode = false }
        #expect(try await wallet.perform(.confirm).step == "PF2.4/1.1")
        #expect(outcomes.take().isEmpty)
        #expect(try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8)).step == "PF2.8/2.1")
        _ = try await wallet.perform(.close)
        #expect(try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8)).step == "UC3.1/1.1")
        #expect(outcomes.take() == [.confirmed(payment)])
        #expect(try self.phone.process().mode == .fallback)
    }

    @Test("by default the PIN confirms in every mode", arguments: BiometricMode.allCases)
    func byDefault(mode: BiometricMode) async throws {
        let outcomes = Outcomes()
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let wallet = try self.phone.wallet(observer: outcomes.add)
        if await wallet.launch().step == "UC2.3/1.3" {
            _ = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
        }
        let payment = try ConfirmationRequest(title: "Pay")
        #expect(try await wallet.confirm(payment).step == "PF2.4/1.1")
        let mark = self.mark
        #expect(try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8)).step == "UC3.1/1.1")
        let traffic = self.traffic(since: mark)
        #expect(traffic.calls.contains("instruct") && traffic.prompts.isEmpty)
        #expect(outcomes.take() == [.confirmed(payment)])
    }
}
