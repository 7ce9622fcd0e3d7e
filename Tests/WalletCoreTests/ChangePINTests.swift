import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Changing the PIN with a crash at any point")
struct ChangePINTests {
    @Test("after a change only the new PIN is valid, and its first unlock removes the old pair")
    func change() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        #expect(try await FakePhone.change(to: FakePhone.newPIN, in: wallet).step == "UC2.6/1.3")
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        #expect(try await !phone.unlocks(with: FakePhone.oldPIN))
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 1)
    }

    @Test("after a crash at any message or local write exactly one PIN is valid, and the wallet uses its pair")
    func crashAtAnyPoint() async throws {
        let uncut = FakePhone()
        let wallet = try await uncut.setUp()
        uncut.crashPoint.arm(nil)
        _ = try await FakePhone.change(to: FakePhone.newPIN, in: wallet)
        let places = uncut.crashPoint.places
        #expect(uncut.crashPoint.log.contains("write state.json"))
        var survivors: Set<String> = []
        for cut in (0..<places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            for arrivesLate in [false, true] {
                let phone = FakePhone()
                let wallet = try await phone.setUp()
                phone.server.withState { $0.keepsLate = arrivesLate }
                phone.crashPoint.arm(cut)
                _ = try? await FakePhone.change(to: FakePhone.newPIN, in: wallet)
                phone.crashPoint.arm(nil)
                if arrivesLate { phone.server.deliverLate() }
                let old = try await phone.unlocks(with: FakePhone.oldPIN)
                let new = try await phone.unlocks(with: FakePhone.newPIN)
                #expect(old != new, "cut \(cut), late \(arrivesLate): old \(old), new \(new)")
                #expect(phone.server.onlyRecord?.wrongAttempts == (new ? 0 : 1))
                survivors.insert(new ? "new" : "old")
            }
        }
        #expect(survivors == ["old", "new"])
    }

    @Test(
        "if the network is lost before the answer to a change, the screen states that either PIN may be the right one"
    )
    func networkGone() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        phone.crashPoint.arm(nil)
        try await FakePhone.beginChange(to: FakePhone.newPIN, in: wallet)
        let device = phone.device
        phone.server.withState { state in
            state.losesNext = ["instruct"]
            state.onLoss = { _ in device.setNetwork(false) }
        }
        let screen = try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8))
        #expect(screen.message.contains("may be the old one or the new one"), "\(screen.message)")
        device.setNetwork(true)
        #expect(try await wallet.perform(.retry).step == "UC2.6/1.3")
    }

    @Test("a delayed change that arrives after another try leaves the pair that the server accepted")
    func lateChange() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        try await phone.holdBackChange(to: FakePhone.newPIN, in: wallet)
        // Another process unlocks with the old PIN and prepares another change, which is lost, too.
        let next = try phone.wallet()
        _ = await next.launch()
        _ = try await next.enter(PINInput(typed: FakePhone.oldPIN.utf8))
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        // The first change arrives.
        phone.server.deliverLate()
        #expect(try await !phone.unlocks(with: FakePhone.oldPIN))
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
    }

    @Test("a failing disk does not lock the user out, and the old pair is removed at a later unlock")
    func cleanUpAfterFailedWrite() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        _ = try await FakePhone.change(to: FakePhone.newPIN, in: wallet)
        let next = try phone.wallet()
        _ = await next.launch()
        // The count of the instruction, the instruction, its answer, then the first write after it.
        phone.crashPoint.arm(.before(3))
        _ = try await next.enter(PINInput(typed: FakePhone.newPIN.utf8))
        #expect(await !next.isLocked)
        phone.crashPoint.arm(nil)
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 1)
    }

    @Test("Retry after a lost message repeats the same change and succeeds, whether request or answer was lost")
    func retry() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        phone.crashPoint.arm(nil)
        try await FakePhone.beginChange(to: FakePhone.newPIN, in: wallet)
        phone.server.withState { state in
            state.forge = { result in
                guard case .instruct = result else { return result }
                return .refused(Refusal(.unavailable(retryAfter: .seconds(1))))
            }
        }
        #expect(try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8)).step == "PF2.9/1.5d")
        phone.server.withState { $0.forge = nil }
        #expect(try await wallet.perform(.retry).step == "UC2.6/1.3")
        #expect(try LocalStore(phone.disk).state.registration?.pairs.count == 2)
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
    }
}
