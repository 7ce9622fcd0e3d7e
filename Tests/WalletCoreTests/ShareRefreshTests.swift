import Secrets
import Synchronization
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
        let walletID = registration.walletID
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

    @Test(
        "after a replacement whose answer was lost, the next valid PIN ends the old share's check value",
        arguments: Self.modes
    )
    func oldCheckValue(mode: BiometricMode) async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, mode)
        let old = try #require(phone.server.onlyRecord).unlockShare
        phone.server.refreshShares()
        phone.server.withState { $0.losesNext = ["confirm shares"] }
        try await Self.use(phone)
        let current = try #require(phone.server.onlyRecord)
        #expect(current.nextUnlockShare == nil && !current.unlockShare.isEqual(to: old))
        for _ in 0..<2 {
            let app = try phone.process()
            if mode == .safe { #expect(await app.unlock() == .done) }
            #expect(await app.check(FakePhone.oldPIN) == .done)
            let accessData = try #require(app.engine.unlocked).accessData
            #expect(!accessData.accepts(old) && accessData.accepts(current.unlockShare))
        }
    }

    @Test("a PIN change that was given up keeps no old share: it takes effect before the replacement or never")
    func lateChange() async throws {
        func withLateChange() async throws -> FakePhone {
            let phone = FakePhone()
            try await phone.holdBackChange(to: FakePhone.newPIN, in: phone.setUp())
            phone.server.refreshShares()
            return phone
        }
        let uncut = try await withLateChange()
        uncut.crashPoint.arm(nil)
        #expect(try await uncut.unlocks(with: FakePhone.oldPIN))
        #expect(uncut.server.onlyRecord?.nextUnlockShare == nil)
        #expect(try uncut.process().registration?.pairs.count == 1)
        var outcomes: Set<Bool> = []
        for cut in Self.cuts(uncut.crashPoint.places) {
            let phone = try await withLateChange()
            phone.crashPoint.arm(cut)
            _ = try? await phone.unlocks(with: FakePhone.oldPIN)
            phone.crashPoint.arm(nil)
            let isReplaced = phone.server.onlyRecord?.nextUnlockShare == nil
            let isChanged = try await Self.deliverLate(phone, "\(cut)")
            #expect(isChanged != isReplaced, "\(cut)")
            outcomes.insert(isChanged)
        }
        #expect(outcomes.count == 2)
    }

    @Test("two replacements, failed writes and a late PIN change leave a wallet that opens with the server's PIN")
    func slotsOfOtherPairs() async throws {
        func withTwoPairs() async throws -> FakePhone {
            let phone = FakePhone()
            _ = try await EngineUnderTest.setUp(phone, .off)
            phone.server.refreshShares()
            phone.server.withState { $0.losesNext = ["confirm shares"] }
            try await Self.use(phone)
            phone.server.refreshShares()
            // The pair's slot under the replaced share stays in the file.
            phone.disk.failing.withLock { $0 = .state }
            let app = try await Self.use(phone)
            phone.disk.failing.withLock { $0 = nil }
            phone.server.withState { $0.keepsLate = true }
            phone.crashPoint.arm(.before(2))
            let (old, new) = (EngineUnderTest.entry(FakePhone.oldPIN), EngineUnderTest.entry(FakePhone.newPIN))
            #expect(await app.perform(.changePIN(old: old, new: new)) == .failed)
            phone.crashPoint.arm(nil)
            try #require(phone.server.withState(\.late).count == 1)
            try #require(phone.process().registration?.pairs.count == 2)
            return phone
        }
        let uncut = try await withTwoPairs()
        uncut.crashPoint.arm(nil)
        try await Self.use(uncut)
        for cut in Self.cuts(uncut.crashPoint.places) {
            let phone = try await withTwoPairs()
            phone.crashPoint.arm(cut)
            try await Self.use(phone)
            phone.crashPoint.arm(nil)
            _ = try await Self.deliverLate(phone, "\(cut)")
        }
    }

    /// Delivers a late PIN change and returns whether it took effect; the wallet must open with the server's PIN.
    private static func deliverLate(_ phone: FakePhone, _ cut: Comment) async throws -> Bool {
        let before = try #require(phone.server.onlyRecord).pinKeyID
        phone.server.deliverLate()
        let after = try #require(phone.server.onlyRecord)
        let isChanged = after.pinKeyID != before
        #expect(try await phone.opens(with: isChanged ? FakePhone.newPIN : FakePhone.oldPIN), cut)
        #expect(phone.server.onlyRecord?.wrongAttempts == 0, cut)
        return isChanged
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

extension LocalRegistration {
    /// Whether a slot is also sealed under a next share.
    fileprivate var hasNextSlot: Bool { self.biometrics?.next != nil || self.pairs.contains { $0.nextSlot != nil } }
}
