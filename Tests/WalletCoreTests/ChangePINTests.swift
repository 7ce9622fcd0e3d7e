import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Changing the PIN, cut anywhere")
struct ChangePINTests {
    @Test("a change makes the new PIN work and the old one not, and its first unlock removes the old pair")
    func change() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        #expect(try await TestPhone.change(to: TestPhone.newPIN, in: wallet).step == "UC2.6/1.3")
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        #expect(try await !phone.unlocks(with: TestPhone.oldPIN))
        #expect(try await phone.unlocks(with: TestPhone.newPIN))
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 1)
    }

    @Test("cut at every message and every local write, exactly one PIN works, and the wallet knows which")
    func cutEverywhere() async throws {
        let uncut = TestPhone()
        let wallet = try await uncut.setUp()
        uncut.crashPoint.arm(nil)
        _ = try await TestPhone.change(to: TestPhone.newPIN, in: wallet)
        let places = uncut.crashPoint.places
        #expect(uncut.crashPoint.log.contains("write state.json"))
        var survivors: Set<String> = []
        for cut in (0..<places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            for arrivesLate in [false, true] {
                let phone = TestPhone()
                let wallet = try await phone.setUp()
                phone.server.withState { $0.keepsLate = arrivesLate }
                phone.crashPoint.arm(cut)
                _ = try? await TestPhone.change(to: TestPhone.newPIN, in: wallet)
                phone.crashPoint.arm(nil)
                if arrivesLate { phone.server.deliverLate() }
                let old = try await phone.unlocks(with: TestPhone.oldPIN)
                let new = try await phone.unlocks(with: TestPhone.newPIN)
                #expect(old != new, "cut \(cut), late \(arrivesLate): old \(old), new \(new)")
                #expect(phone.server.onlyRecord?.wrongAttempts == (new ? 0 : 1))
                survivors.insert(new ? "new" : "old")
            }
        }
        #expect(survivors == ["old", "new"])
    }

    @Test(
        "where the network goes before the answer of a change comes, the person is told that either PIN may be the right one"
    )
    func networkGone() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        phone.crashPoint.arm(nil)
        try await TestPhone.beginChange(to: TestPhone.newPIN, in: wallet)
        let device = phone.device
        phone.server.withState { state in
            state.losesNext = ["instruct"]
            state.onLoss = { _ in device.setNetwork(false) }
        }
        let screen = try await wallet.enter(PINInput(typed: TestPhone.newPIN.utf8))
        #expect(screen.message.contains("may be the old one or the new one"), "\(screen.message)")
        device.setNetwork(true)
        #expect(try await wallet.perform(.retry).step == "UC2.6/1.3")
    }

    @Test("a change that arrives after another one was tried leaves the one that the server took")
    func lateChange() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        phone.server.withState { $0.keepsLate = true }
        // The first change is sent and held back on its way.
        phone.crashPoint.arm(nil)
        try await TestPhone.beginChange(to: TestPhone.newPIN, in: wallet)
        phone.crashPoint.arm(.before(1))
        _ = try? await wallet.enter(PINInput(typed: TestPhone.newPIN.utf8))
        phone.crashPoint.arm(nil)
        #expect(phone.server.withState(\.late).count == 1)
        // Another life unlocks with the old PIN and prepares another change, which is lost as well.
        let next = try phone.wallet()
        _ = await next.launch()
        _ = try await next.enter(PINInput(typed: TestPhone.oldPIN.utf8))
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        // Now the first one arrives.
        phone.server.deliverLate()
        #expect(try await !phone.unlocks(with: TestPhone.oldPIN))
        #expect(try await phone.unlocks(with: TestPhone.newPIN))
    }

    @Test("a disk that takes nothing more keeps nobody out: the old pair is removed at a later unlock")
    func tidyingLater() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        _ = try await TestPhone.change(to: TestPhone.newPIN, in: wallet)
        let next = try phone.wallet()
        _ = await next.launch()
        // The instruction, its answer, then the write.
        phone.crashPoint.arm(.before(2))
        _ = try await next.enter(PINInput(typed: TestPhone.newPIN.utf8))
        #expect(await !next.isLocked)
        phone.crashPoint.arm(nil)
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        #expect(try await phone.unlocks(with: TestPhone.newPIN))
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 1)
    }

    @Test("Retry after a lost answer is the same change, and succeeds whichever side lost it")
    func retry() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        phone.crashPoint.arm(nil)
        try await TestPhone.beginChange(to: TestPhone.newPIN, in: wallet)
        phone.server.withState { state in
            state.forge = { result in
                guard case .instruct = result else { return result }
                return .refused(Refusal(.unavailable(retryAfter: .seconds(1))))
            }
        }
        #expect(try await wallet.enter(PINInput(typed: TestPhone.newPIN.utf8)).step == "PF2.9/1.5d")
        phone.server.withState { $0.forge = nil }
        #expect(try await wallet.perform(.retry).step == "UC2.6/1.3")
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        #expect(try await phone.unlocks(with: TestPhone.newPIN))
    }
}
