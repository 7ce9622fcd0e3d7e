import WalletFlows
import Synchronization
import TestSupport
import Testing
import Vocabulary
import WalletCore

@Suite("The wallet in a host application")
struct WalletTests {
    let phone = FakePhone()

    init() {
        self.phone.keychain.withState { $0.biometrics = .fingerprint }
    }

    /// An issuer that always returns the same code, or none.
    struct Issuer: PIDIssuer {
        var code: RecoveryCode?

        func obtain() async -> RecoveryCode? { self.code }
    }

    /// An issuer that calls the wallet while the wallet waits for it.
    final class ReentrantIssuer: PIDIssuer {
        private let action = Mutex<(@Sendable () async -> Void)?>(nil)

        func set(_ action: @escaping @Sendable () async -> Void) { self.action.withLock { $0 = action } }

        func obtain() async -> RecoveryCode? {
            // Taken once, to break the reference cycle with the wallet.
            let action = self.action.withLock { action in
                defer { action = nil }
                return action
            }
            await action?()
            return nil
        }
    }

    /// The events that an observer received.
    final class EventLog: Sendable {
        private let heard = Mutex<[String]>([])
        private let taken = Mutex<[String]>([])

        func add(_ event: WalletEvent) {
            if case .step(let step) = event { self.taken.withLock { $0.append("\(step)") } }
            let word: String? =
                switch event {
                case .step, .screen: nil
                case .event(let event): event.name
                case .locked(let isLocked): isLocked ? "locked" : "unlocked"
                }
            guard let word else { return }
            self.heard.withLock { $0.append(word) }
        }

        var names: [String] { self.heard.withLock { $0 } }
        var steps: [String] { self.taken.withLock { $0 } }
    }

    /// Returns a wallet with biometrics and an identity, at its dashboard.
    private func atDashboard(
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in },
        lockedAfter time: Duration = LockTimes().background
    ) async throws -> Wallet {
        let code = RecoveryCode("a-person".utf8)
        let wallet = try self.phone.wallet(observer: observer) { settings in
            settings.issuer = Issuer(code: code)
            settings.lockTimes.background = time
        }
        _ = try await self.phone.choose(FakePhone.oldPIN, in: wallet)
        for action in [ActionID.enable, .next, .writtenDown, .obtain] { _ = try await wallet.perform(action) }
        try #require(try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8)).step == "UC7.1/1.1")
        return wallet
    }

    @Test("a device that answers prompts needs no call for them, from the setup to the next unlock")
    func byDevice() async throws {
        _ = try await self.atDashboard()
        let next = try self.phone.wallet()
        #expect(await next.launch().step == "UC7.1/1.1")
        #expect(await !next.isLocked)
        #expect(self.phone.keychain.withState(\.prompts) == [.unlock])
    }

    @Test("a rejection by the device's sensor is shown and not repeated in a loop")
    func rejectedByDevice() async throws {
        _ = try await self.atDashboard()
        self.phone.keychain.withState { $0.presented = .mismatch }
        let next = try self.phone.wallet()
        #expect(await next.launch().step == "UC2.3/4.1")
        #expect(self.phone.keychain.withState(\.prompts) == [.unlock])
        #expect(try await next.perform(.tryAgain).step == "UC2.3/4.1")
        #expect(self.phone.keychain.withState(\.prompts) == [.unlock, .unlock])
    }

    @Test("without such a device the prompt is a screen that waits for the host's input")
    func byHost() async throws {
        _ = try await self.atDashboard()
        self.phone.keychain.withState { $0.answersPrompts = false }
        let next = try self.phone.wallet()
        let screen = await next.launch()
        #expect(screen.step == "UC2.3/1.2")
        #expect(screen.kind == .osPrompt)
        await #expect(throws: WalletError.noInput) { try await next.enter(PINInput(typed: FakePhone.oldPIN.utf8)) }
        #expect(try await next.present(.mismatch).step == "UC2.3/4.1")
        await #expect(throws: WalletError.noPrompt) { try await next.present(.match) }
        #expect(try await next.perform(.tryAgain).step == "UC2.3/1.2")
        #expect(try await next.present(.match).step == "UC7.1/1.1")
    }

    @Test("SB5: the migration asks once for the PIN and once for a prompt")
    func migration() async throws {
        _ = try await self.atDashboard()
        self.phone.server.withState { $0.wantsSafeMode = true }
        let first = try self.phone.wallet()
        #expect(await first.launch().step == "UC2.3/1.3")
        #expect(try await first.enter(PINInput(typed: FakePhone.oldPIN.utf8)).step == "UC7.1/1.1")
        #expect(self.phone.keychain.withState(\.prompts) == [.migrate])
        let second = try self.phone.wallet()
        #expect(await second.launch().step == "UC7.1/1.1")
        #expect(self.phone.keychain.withState(\.prompts) == [.migrate, .unlock])
    }

    @Test("SB7, SB11: in the safe mode the settings begin with a prompt")
    func settingsInSafeMode() async throws {
        self.phone.server.withState { $0.wantsSafeMode = true }
        let wallet = try await self.atDashboard()
        _ = try await wallet.open(.changePIN)
        _ = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
        _ = try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8))
        #expect(try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8)).step == "UC2.6/1.3")
        #expect(self.phone.keychain.withState(\.prompts) == [.changePIN])
        #expect(try await self.phone.opens(with: FakePhone.newPIN))
        let next = try self.phone.wallet()
        #expect(await next.launch().step == "UC7.1/1.1")
        for action in [ActionID.menu, .settings, .biometrics, .disable] { _ = try await next.perform(action) }
        #expect(try await self.phone.opens(with: FakePhone.newPIN))
        #expect(self.phone.items.isEmpty)
    }

    @Test("a permanently blocked wallet reports the block at a biometric unlock")
    func blockedPermanently() async throws {
        _ = try await self.atDashboard()
        self.phone.server.withState { state in
            for id in state.records.keys { state.records[id]?.isBlockedPermanently = true }
        }
        #expect(await (try self.phone.wallet()).launch().step == "PF2.8/9.1")
    }

    @Test("a resume after too long in the background locks before it shows a screen")
    func background() async throws {
        let wallet = try await self.atDashboard()
        self.phone.keychain.withState { $0.answersPrompts = false }
        await wallet.background()
        self.phone.clock.advance(by: .seconds(299))
        #expect(await wallet.resume().step == "UC7.1/1.1")
        await wallet.background()
        self.phone.clock.advance(by: .seconds(300))
        #expect(await wallet.refresh().step == "UC7.1/1.1")
        #expect(await wallet.resume().step == "UC2.3/1.2")
        #expect(await wallet.isLocked)
    }

    @Test("in the background the keys are dropped at the lock time, and no prompt appears before the resume")
    func keysDroppedInBackground() async throws {
        let log = EventLog()
        let wallet = try await self.atDashboard(observer: log.add)
        self.phone.keychain.withState { $0.answersPrompts = false }
        await wallet.background()
        self.phone.clock.advance(by: .seconds(299))
        #expect(await wallet.refresh().kind == .screen)
        #expect(await !wallet.isLocked)
        self.phone.clock.advance(by: .seconds(1))
        #expect(await wallet.refresh().kind == .screen)
        #expect(await wallet.isLocked)
        #expect(log.names.last == "locked")
        #expect(await wallet.resume().step == "UC2.3/1.2")
        #expect(log.names.last == "locked" && log.names.count { $0 == "locked" } == 1)
        #expect(try await wallet.present(.match).step == "UC7.1/1.1")
        #expect(await !wallet.isLocked)
    }

    @Test("the keys are dropped even if the host does not refresh", .timeLimit(.minutes(1)))
    func keysDroppedWithoutRefresh() async throws {
        let wallet = try await self.atDashboard(lockedAfter: .milliseconds(1))
        var states = wallet.lockStates.makeAsyncIterator()
        #expect(await states.next() == false)
        await wallet.background()
        self.phone.clock.advance(by: .milliseconds(1))
        #expect(await states.next() == true)
        #expect(await wallet.isLocked)
    }

    @Test("an idle wallet warns and then locks at a refresh")
    func inactivity() async throws {
        let wallet = try await self.atDashboard()
        self.phone.keychain.withState { $0.answersPrompts = false }
        self.phone.clock.advance(by: .seconds(239))
        #expect(await wallet.refresh().step == "UC7.1/1.1")
        self.phone.clock.advance(by: .seconds(1))
        #expect(await wallet.refresh().step == "LOCK/1.4")
        #expect(try await wallet.perform(.yesContinue).step == "UC7.1/1.1")
        self.phone.clock.advance(by: .seconds(240))
        #expect(await wallet.refresh().step == "LOCK/1.4")
        self.phone.clock.advance(by: .seconds(60))
        #expect(await wallet.refresh().step == "UC2.3/1.2")
        #expect(await wallet.isLocked)
    }

    @Test("a link is passed to the host once the wallet is unlocked and the host's operation has ended")
    func links() async throws {
        let log = EventLog()
        let wallet = try await self.atDashboard(observer: log.add)
        let link = IncomingLink("https://wallet.example.org/link/login/1")
        await wallet.setHostSession(.disclosure)
        #expect(await wallet.open(link).step == "PF2.7/4.1")
        #expect(!log.names.contains("link-accepted"))
        _ = try await wallet.perform(.ok)
        await wallet.setHostSession(nil)
        _ = await wallet.open(link)
        #expect(log.names.contains("link-accepted"))
    }

    @Test("a host without an issuer receives the request, and a cancelled request leaves the offer")
    func noIssuer() async throws {
        let log = EventLog()
        let wallet = try self.phone.wallet(observer: log.add)
        _ = try await self.phone.choose(FakePhone.oldPIN, in: wallet)
        for action in [ActionID.skip, .next, .writtenDown] { _ = try await wallet.perform(action) }
        #expect(try await wallet.perform(.obtain).step == "UC3.1/1.1")
        #expect(log.names.contains("pid-requested"))
    }

    @Test("the stream of lock states begins with the current value and delivers the newest")
    func lockStates() async throws {
        let wallet = try await self.atDashboard()
        var open = wallet.lockStates.makeAsyncIterator()
        #expect(await open.next() == false)
        _ = try await wallet.perform(.menu)
        _ = try await wallet.perform(.logOut)
        // The device answers the prompt at once: locked and unlocked again; only the newest value
        // is delivered.
        #expect(await open.next() == false)
        self.phone.keychain.withState { $0.answersPrompts = false }
        _ = try await wallet.perform(.menu)
        _ = try await wallet.perform(.logOut)
        #expect(await open.next() == true)
        var late = wallet.lockStates.makeAsyncIterator()
        #expect(await late.next() == true)
    }

    @Test("the stream of configurations delivers the server's latest statements and ends with the wallet")
    func configurations() async throws {
        var wallet: Wallet? = try self.phone.wallet()
        let stream = try #require(wallet).configurations
        var told = stream.makeAsyncIterator()
        let unknown = try #require(await told.next())
        #expect(unknown.features == nil && unknown.update == nil && unknown.attemptPolicy == .standard)
        _ = await wallet?.launch()
        let said = try #require(await told.next())
        #expect(said.features == Features(deletionCode: true, safeBiometricUnlock: false))
        #expect(said.update == .ok)
        #expect(!said.isSolutionRevoked)
        wallet = nil
        #expect(await told.next() == nil)
    }

    @Test("during a call user actions are rejected, and a resume with a link is processed afterwards")
    func callsDuringCall() async throws {
        let reentrant = ReentrantIssuer()
        let log = EventLog()
        let wallet = try self.phone.wallet(observer: log.add) { $0.issuer = reentrant }
        _ = try await self.phone.choose(FakePhone.oldPIN, in: wallet)
        for action in [ActionID.enable, .next, .writtenDown] { _ = try await wallet.perform(action) }
        reentrant.set {
            await #expect(throws: WalletError.busy) { try await wallet.perform(.help) }
            #expect(await wallet.launch().step == "UC3.1/1.1")
            #expect(await wallet.refresh().step == "UC3.1/1.1")
            let link = IncomingLink("https://wallet.example.org/link/login/1")
            #expect(await wallet.open(link).step == "UC3.1/1.1")
        }
        // The resume is processed after the call. Without an identity it resolves no link (UC1.2/3.3b).
        #expect(try await wallet.perform(.obtain).step == "UC3.1/1.1")
        #expect(log.steps.suffix(4) == ["UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2a", "UC1.2/3.3b"])
        #expect(await !wallet.isLocked)
    }

    @Test("a launch locks the wallet")
    func launchLocks() async throws {
        let log = EventLog()
        let wallet = try await self.atDashboard(observer: log.add)
        self.phone.keychain.withState { $0.answersPrompts = false }
        #expect(await wallet.launch().step == "UC2.3/1.2")
        #expect(log.names.last == "locked")
    }
}
