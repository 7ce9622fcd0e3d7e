import Secrets
import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Replacing the server's shares")
struct ShareRefreshTests {
    private static let modes: [BiometricMode] = [.off, .fallback, .safe]

    /// Unlocks by every means of the mode, and enters the PIN with the keychain item open.
    ///
    /// One such process prepares the biometric slot and then confirms both shares.
    @discardableResult
    private static func use(_ phone: FakePhone, pin: String = FakePhone.oldPIN) async throws -> EngineUnderTest {
        let app = try phone.process()
        if app.mode != .off { _ = await app.unlock() }
        if app.mode == .safe { _ = await app.prompt(.changePIN) }
        _ = await app.check(pin)
        return app
    }

    private static func cuts(_ places: Int) -> [CrashPoint.Cut] {
        (0..<places).flatMap { [CrashPoint.Cut.before($0), .after($0)] }
    }

    @Test("one unlock replaces both shares, and the old ones open nothing afterwards", arguments: Self.modes)
    func replaced(mode: BiometricMode) async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, mode)
        let old = try #require(phone.server.onlyRecord)
        phone.server.refreshShares()
        let next = try #require(phone.server.onlyRecord)
        try await Self.use(phone)
        let now = try #require(phone.server.onlyRecord)
        #expect(next.nextUnlockShare?.isEqual(to: now.unlockShare) == true)
        #expect(next.nextPresenceShare?.isEqual(to: now.presenceShare) == true)
        #expect(now.nextUnlockShare == nil && now.nextPresenceShare == nil)
        let registration = try #require(try phone.process().registration)
        #expect(!registration.hasNextSlot)
        #expect(try await phone.opens(with: FakePhone.oldPIN))
        // A thief with the old shares, the phone's files and its keychain opens nothing.
        let walletID = registration.walletID.value
        let entry = EngineUnderTest.entry(FakePhone.oldPIN)
        var pair = try #require(registration.pairs.first)
        if let biometrics = registration.biometrics {
            let item = try #require(phone.openItem(biometrics.item))
            if mode == .safe { pair = try pair.unsealed(with: item, walletID: walletID) }
            #expect(throws: SealBroken.self) {
                _ = try biometrics.open(with: item, share: old.presenceShare, walletID: walletID)
            }
        }
        #expect(throws: SealBroken.self) {
            _ = try pair.open(with: entry, share: old.unlockShare, walletID: walletID)
        }
        _ = try pair.open(with: entry, share: now.unlockShare, walletID: walletID)
    }

    @Test(
        "after a crash at any message or local write the wallet unlocks, and a later unlock completes it",
        arguments: Self.modes
    )
    func crashAtAnyPoint(mode: BiometricMode) async throws {
        let uncut = FakePhone()
        _ = try await EngineUnderTest.setUp(uncut, mode)
        uncut.server.refreshShares()
        uncut.crashPoint.arm(nil)
        try await Self.use(uncut)
        #expect(uncut.crashPoint.log.contains("answer confirm shares"))
        for cut in Self.cuts(uncut.crashPoint.places) {
            for refreshesAgain in [false, true] {
                let phone = FakePhone()
                _ = try await EngineUnderTest.setUp(phone, mode)
                phone.server.refreshShares()
                phone.crashPoint.arm(cut)
                try await Self.use(phone)
                phone.crashPoint.arm(nil)
                if refreshesAgain { phone.server.refreshShares() }
                #expect(try await phone.opens(with: FakePhone.oldPIN), "\(cut)")
                try await Self.use(phone)
                let record = try #require(phone.server.onlyRecord)
                #expect(record.nextUnlockShare == nil && record.nextPresenceShare == nil, "\(cut)")
                #expect(try phone.process().registration?.hasNextSlot == false, "\(cut)")
                #expect(try await phone.opens(with: FakePhone.oldPIN), "\(cut)")
                #expect(record.wrongAttempts == 0, "\(cut)")
            }
        }
    }

    @Test(
        "a PIN change right after a replacement whose answer was lost leaves a wallet that opens",
        arguments: Self.modes
    )
    func changeAfterLostAnswer(mode: BiometricMode) async throws {
        for isAnswerLost in [false, true] {
            let phone = FakePhone()
            _ = try await EngineUnderTest.setUp(phone, mode)
            phone.server.refreshShares()
            if isAnswerLost { phone.server.withState { $0.losesNext = ["confirm shares"] } }
            let app = try await Self.use(phone)
            if mode == .safe { #expect(await app.prompt(.changePIN) == .done) }
            let (old, new) = (EngineUnderTest.entry(FakePhone.oldPIN), EngineUnderTest.entry(FakePhone.newPIN))
            #expect(await app.perform(.changePIN(old: old, new: new)) == .done)
            #expect(try await phone.opens(with: FakePhone.newPIN))
            try await Self.use(phone, pin: FakePhone.newPIN)
            #expect(try await phone.opens(with: FakePhone.newPIN))
            #expect(phone.server.onlyRecord?.nextUnlockShare == nil)
        }
    }

    @Test("while a PIN change may still arrive late, the unlock share is not replaced")
    func lateChange() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        phone.server.withState { $0.keepsLate = true }
        phone.crashPoint.arm(nil)
        try await FakePhone.beginChange(to: FakePhone.newPIN, in: wallet)
        phone.crashPoint.arm(.before(1))
        _ = try? await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8))
        phone.crashPoint.arm(nil)
        try #require(phone.server.withState(\.late).count == 1)
        phone.server.refreshShares()
        #expect(try await phone.unlocks(with: FakePhone.oldPIN))
        #expect(phone.server.onlyRecord?.nextUnlockShare != nil)
        phone.server.deliverLate()
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
        #expect(phone.server.onlyRecord?.nextUnlockShare == nil)
    }

    @Test("next shares from a server whose share opens nothing change no file")
    func falseServer() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .fallback)
        phone.server.withState { state in
            state.forge = { result in
                switch result {
                case .instruct(.pinValid): return .instruct(.pinValid(unlockShare: .random(), next: .random()))
                case .openSession(.active(var wallet)):
                    wallet.presenceShare = .random()
                    wallet.nextPresenceShare = .random()
                    return .openSession(.active(wallet))
                default: return result
                }
            }
        }
        let before = phone.disk.contents[.state]
        try await Self.use(phone)
        #expect(phone.disk.contents[.state] == before)
        phone.server.withState { $0.forge = nil }
        #expect(try await phone.opens(with: FakePhone.oldPIN))
    }
}
