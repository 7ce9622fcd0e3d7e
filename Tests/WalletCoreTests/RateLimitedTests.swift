import Testing
import WalletFlows
import Wire

@testable import WalletCore

private let limited = CallResult.refused(Refusal(.rateLimited(retryAfter: .seconds(1))))

@Suite("Rate limiting by the server")
struct RateLimitedTests {
    @Test(
        "a rate-limited unlock is shown as not counted, changes nothing, and succeeds at Retry",
        arguments: ["hello", "openSession", "instruct"]
    )
    func unlock(call: String) async throws {
        let phone = FakePhone()
        _ = try await phone.setUp()
        phone.crashPoint.arm(nil)
        let before = try LocalStore(phone.disk).state.registration
        let wallet = try phone.wallet()
        phone.server.withState { state in
            state.forge = { result in
                switch (call, result) {
                case ("hello", .hello), ("openSession", .openSession), ("instruct", .instruct): limited
                case _: result
                }
            }
        }
        _ = await wallet.launch()
        let scene = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
        #expect(await wallet.obstacle == .serverUnreachable)
        #expect(scene.message.contains("No attempt was counted"), "\(scene.message)")
        #expect(scene.actions.contains { $0.id == .retry })
        #expect(await wallet.isLocked)
        #expect(try LocalStore(phone.disk).state.registration == before)
        phone.server.withState { $0.forge = nil }
        _ = try await wallet.perform(.retry)
        #expect(try await phone.unlocks(with: FakePhone.oldPIN))
    }

    @Test("an attempt whose reply was lost is never shown as not counted, even if the repetition fails")
    func lostBefore() async throws {
        let phone = FakePhone()
        _ = try await phone.setUp()
        phone.crashPoint.arm(nil)
        let wallet = try phone.wallet()
        _ = await wallet.launch()
        let claim = "No attempt was counted"
        phone.server.withState {
            $0.losesNext = ["instruct"]; $0.leavesAtLoss = true
        }
        let lost = try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8))
        #expect(!lost.message.contains(claim), "\(lost.message)")
        let away = try await wallet.perform(.retry)
        #expect(await wallet.obstacle == .serverUnreachable)
        #expect(!away.message.contains(claim), "\(away.message)")
        phone.server.withState { state in
            state.reachable = true
            state.forge = { if case .instruct = $0 { limited } else { $0 } }
        }
        let waiting = try await wallet.perform(.retry)
        #expect(await wallet.obstacle == .serverUnreachable)
        #expect(!waiting.message.contains(claim), "\(waiting.message)")
        phone.server.withState { $0.forge = nil }
        #expect(try await wallet.perform(.retry).step == "PF2.8/2.1")
        #expect(phone.server.onlyRecord?.wrongAttempts == 1)
        // Another entry of a PIN is another attempt.
        phone.server.withState { $0.reachable = false }
        _ = try await wallet.perform(.close)
        await wallet.close()
        let other = try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8))
        #expect(other.message.contains(claim), "\(other.message)")
    }

    @Test(
        "a rate-limited setup continues at Retry, with another token or the same one",
        arguments: ["beginEnrollment", "register"]
    )
    func setup(call: String) async throws {
        let phone = FakePhone()
        phone.server.withState { state in
            state.forge = { result in
                switch (call, result) {
                case ("beginEnrollment", .beginEnrollment), ("register", .register): limited
                case _: result
                }
            }
        }
        let wallet = try phone.wallet()
        _ = try await phone.choose(FakePhone.oldPIN, in: wallet)
        #expect(await wallet.obstacle == .serverUnreachable)
        phone.server.withState { $0.forge = nil }
        _ = try await wallet.perform(.retry)
        _ = try await wallet.perform(.next)
        _ = try await wallet.perform(.writtenDown)
        #expect(try await phone.unlocks(with: FakePhone.oldPIN))
    }
}
