import WalletFlows
import Secrets
import Statements
import TestSupport
import Testing

@testable import WalletCore

@Suite("Random operations with random crashes")
struct RandomOperationsTests {
    /// An operation on an unlocked wallet.
    enum Wish: CaseIterable {
        case enable, disable, changePIN, migrate, nothing
    }

    @Test(
        "after random operations and crashes one PIN unlocks, no item is left over, and no receipt is a contradiction",
        arguments: [UInt64(1), 2, .random(in: 3 ... .max)]
    )
    func lives(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<25 {
            let phone = FakePhone()
            let key = ReceiptSigningKey(id: 1, seed: .random(count: 48))
            phone.server.withState { $0.receiptKeys = [key] }
            _ = try await EngineUnderTest.setUp(phone, .off)
            var pin = FakePhone.oldPIN
            var story: [String] = []
            for _ in 0..<12 {
                let wantsSafe = Bool.random(using: &generator)
                phone.server.withState { $0.wantsSafeMode = wantsSafe }
                let wish = Wish.allCases.randomElement(using: &generator) ?? .nothing
                let place = Int.random(in: 0..<30, using: &generator)
                let cut = Bool.random(using: &generator) ? CrashPoint.Cut.before(place) : .after(place)
                phone.crashPoint.arm(cut)
                let other = pin == FakePhone.oldPIN ? FakePhone.newPIN : FakePhone.oldPIN
                try await Self.live(phone, wish, pin: pin, other: other)
                phone.crashPoint.arm(nil)
                story.append("\(wish) \(cut) safe \(wantsSafe)")
                if wish == .changePIN, try await phone.opens(with: other) { pin = other }
                try #require(try await phone.opens(with: pin), "seed \(seed): \(story)")
                let notice = try LocalStore(phone.disk).receipts.notice
                try #require(notice?.tampering ?? [] == [], "seed \(seed): \(story)")
            }
        }
    }

    /// One process: unlocks according to the mode, then runs the operation until a crash.
    private static func live(_ phone: FakePhone, _ wish: Wish, pin: String, other: String) async throws {
        let app = try phone.process()
        let byPIN = app.mode == .off || wish == .migrate && app.mode == .fallback
        guard await (byPIN ? app.check(pin) : app.unlock()) == .done else { return }
        switch wish {
        case .enable:
            if app.mode != .off { _ = await app.prompt(.enable) }
            _ = await app.enable()
        case .disable: _ = await app.disable()
        case .changePIN: _ = await app.change(from: pin, to: other)
        case .migrate where app.mode == .fallback && app.engine.facts().wantsSafeMode:
            _ = await app.perform(.migrateBiometrics(.match))
        case .migrate, .nothing: break
        }
    }
}
