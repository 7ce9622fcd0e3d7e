import DeviceInterface
import TestSupport
import Testing
import Vocabulary
import WalletFlows

@testable import WalletCore

@Suite("Lives of a wallet, cut at random")
struct RandomLivesTests {
    /// What somebody may want of an unlocked wallet.
    enum Wish: CaseIterable {
        case enable, disable, changePIN, migrate, nothing
    }

    @Test(
        "whatever is done in whatever order and cut wherever, one PIN opens and the keychain holds what counts",
        arguments: [UInt64(1), 2, .random(in: 3 ... .max)]
    )
    func lives(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<25 {
            let phone = TestPhone()
            _ = try await EngineUnderTest.setUp(phone, .off)
            var pin = TestPhone.oldPIN
            var story: [String] = []
            for _ in 0..<12 {
                let wantsSafe = Bool.random(using: &generator)
                phone.server.withState { $0.wantsSafeMode = wantsSafe }
                let wish = Wish.allCases.randomElement(using: &generator) ?? .nothing
                let place = Int.random(in: 0..<30, using: &generator)
                let cut = Bool.random(using: &generator) ? CrashPoint.Cut.before(place) : .after(place)
                phone.crashPoint.arm(cut)
                let other = pin == TestPhone.oldPIN ? TestPhone.newPIN : TestPhone.oldPIN
                try await Self.live(phone, wish, pin: pin, other: other)
                phone.crashPoint.arm(nil)
                story.append("\(wish) \(cut) safe \(wantsSafe)")
                if wish == .changePIN, try await phone.opens(with: other) { pin = other }
                try #require(try await phone.opens(with: pin), "seed \(seed): \(story)")
            }
        }
    }

    /// One life: unlocked as its mode wants it, then the wish, as far as it goes.
    private static func live(_ phone: TestPhone, _ wish: Wish, pin: String, other: String) async throws {
        let life = try phone.life()
        let byPIN = life.mode == .off || wish == .migrate && life.mode == .fallback
        guard await (byPIN ? life.check(pin) : life.unlock()) == .done else { return }
        switch wish {
        case .enable:
            if life.mode != .off { _ = await life.prompt(.enable) }
            _ = await life.enable()
        case .disable: _ = await life.disable()
        case .changePIN: _ = await life.change(from: pin, to: other)
        case .migrate where life.mode == .fallback && life.engine.facts().wantsSafeMode:
            _ = await life.perform(.migrateBiometrics(.match))
        case .migrate, .nothing: break
        }
    }
}
