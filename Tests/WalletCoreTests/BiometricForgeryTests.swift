import WalletFlows
import Secrets
import Testing
import Vocabulary
import Wire

@testable import WalletCore

@Suite("False replies to a wallet with biometrics")
struct BiometricForgeryTests {
    /// A false answer to the opening of a session.
    struct Lie: Sendable, CustomTestStringConvertible {
        let name: String
        let tell: @Sendable (ActiveWallet) -> CallResult

        var testDescription: String { self.name }

        static func session(_ name: String, _ change: @escaping @Sendable (inout ActiveWallet) -> Void) -> Lie {
            Lie(name: name) { wallet in
                var wallet = wallet
                change(&wallet)
                return .openSession(.active(wallet))
            }
        }
    }

    static let lies: [Lie] = [
        .session("another presence share") { $0.presenceShare = .random() },
        .session("no presence share") { $0.presenceShare = nil },
        .session("another share and the flag off") { wallet in
            wallet.presenceShare = .random()
            wallet.features.safeBiometricUnlock = false
        },
        .session("another PIN key and another share") { wallet in
            wallet.pinKeyID = .random()
            wallet.presenceShare = .random()
        },
        Lie(name: "revoked") { _ in
            .openSession(.revoked(Revocation(reason: .wallet, mayRegisterAnew: true)))
        },
        Lie(name: "revoked by the user") { _ in
            .openSession(.revoked(Revocation(reason: .user, mayRegisterAnew: true)))
        },
        Lie(name: "not known") { _ in .refused(Refusal(.authenticationFailed)) },
        Lie(name: "unavailable") { _ in .refused(Refusal(.unavailable(retryAfter: .seconds(1)))) },
        Lie(name: "another answer") { _ in .reportWipe },
    ]

    static func tell(_ lie: Lie, on phone: FakePhone) {
        phone.server.withState { state in
            state.forge = { result in
                guard case .openSession(.active(let wallet)) = result else { return result }
                return lie.tell(wallet)
            }
        }
    }

    @Test("no false session opens anything, deletes anything or ends the safe mode", arguments: Self.lies)
    func nothingChanges(lie: Lie) async throws {
        for mode in [BiometricMode.fallback, .safe] {
            let phone = FakePhone()
            _ = try await EngineUnderTest.setUp(phone, mode)
            let files = phone.disk.contents
            let items = phone.items
            Self.tell(lie, on: phone)
            let app = try phone.process()
            #expect(await app.unlock() != .done)
            #expect(app.isLocked)
            for file in [LocalFile.state, .accessData] {
                #expect(phone.disk.contents[file] == files[file], "\(mode): \(file)")
            }
            #expect(phone.items == items)
            phone.server.withState { $0.forge = nil }
            #expect(try await phone.opens(with: FakePhone.oldPIN))
        }
    }

    @Test("a forged flag causes at most a migration, which requires the PIN and a prompt")
    func forgedFlag() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .fallback)
        Self.tell(.session("flag on") { $0.features.safeBiometricUnlock = true }, on: phone)
        let state = phone.disk.contents[.state]
        let app = try phone.process()
        #expect(await app.unlock() == .done)
        #expect(app.engine.facts().wantsSafeMode)
        #expect(phone.disk.contents[.state] == state)
        // The next process asks for the PIN and the prompt, and the one after it restores the mode.
        #expect(await (try phone.process()).migrate() == .done)
        phone.server.withState { $0.forge = nil }
        #expect(try phone.process().mode == .safe)
        #expect(try await phone.process().unlock() == .done)
        #expect(try phone.process().mode == .fallback)
        #expect(try await phone.opens(with: FakePhone.oldPIN))
    }

    @Test("a biometric slot is never made with an unproven presence share")
    func unprovenShare() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .off)
        let app = try phone.process()
        #expect(await app.check(FakePhone.oldPIN) == .done)
        // The connection of the PIN check ends; an attacker answers on the next one with a random
        // share.
        await app.engine.disconnect()
        Self.tell(.session("another presence share") { $0.presenceShare = .random() }, on: phone)
        _ = await app.perform(.askStatus)
        #expect(await app.enable() == .done)
        phone.server.withState { $0.forge = nil }
        #expect(try await phone.opens(with: FakePhone.oldPIN))
    }

    @Test(
        "a setup whose connection is lost does not use a presence share from another connection",
        arguments: [false, true]
    )
    func unprovenShareInSetup(isLiar: Bool) async throws {
        let phone = FakePhone()
        phone.keychain.withState { $0.biometrics = .fingerprint }
        phone.server.withState { state in
            state.wantsSafeMode = true
            state.losesNext = ["open session"]
            guard isLiar else { return }
            state.forge = { result in
                switch result {
                case .openSession(.active(var wallet)):
                    wallet.presenceShare = .random()
                    return .openSession(.active(wallet))
                case .instruct(.pinValid): return .instruct(.pinValid(unlockShare: .random()))
                case _: return result
                }
            }
        }
        let app = try EngineUnderTest(phone)
        #expect(await app.perform(.enroll(EngineUnderTest.entry(FakePhone.oldPIN))) == .done)
        #expect(await app.enable() == (isLiar ? .failed : .done))
        phone.server.withState { $0.forge = nil }
        #expect(try await phone.opens(with: FakePhone.oldPIN))
    }

    @Test("after a revocation neither slot opens", arguments: [BiometricMode.fallback, .safe])
    func revoked(mode: BiometricMode) async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, mode)
        // The app was started and opened its session before the revocation.
        let app = try phone.process()
        _ = await app.perform(.askUpdatePolicy)
        _ = await app.perform(.askStatus)
        phone.server.revokeAll(.wallet)
        #expect(await app.unlock() == .revoked)
        #expect(app.isLocked)
        let pin = await app.check(FakePhone.oldPIN)
        #expect(pin == (mode == .safe ? .failed : .revoked))
        #expect(app.isLocked)
        #expect(try await phone.process().unlock() == .revoked)
    }

    @Test("a permanently blocked wallet receives no presence share and reports the block")
    func blockedPermanently() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .safe)
        phone.server.withState { state in
            for id in state.records.keys { state.records[id]?.isBlockedPermanently = true }
        }
        let before = phone.disk.contents[.state]
        let app = try phone.process()
        #expect(await app.unlock() == .blockedPermanently)
        #expect(app.isLocked)
        #expect(phone.disk.contents[.state] == before)
    }

    @Test("a version that was blocked while the app was open gets no share, which is no permanent block")
    func blockedVersion() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .safe)
        let app = try phone.process()
        _ = await app.perform(.askUpdatePolicy)
        phone.server.withState { $0.verdict = .block(updateAvailable: true) }
        #expect(await app.unlock() == .failed)
        #expect(app.isLocked)
        phone.server.withState { $0.verdict = .ok }
        #expect(await app.unlock() == .done)
    }

    @Test("a biometric unlock requires the server")
    func unreachable() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .safe)
        phone.server.withState { $0.reachable = false }
        let app = try phone.process()
        guard case .failed(.serverUnreachable) = await app.engine.perform(.unlockWithBiometrics(.match)) else {
            Issue.record("the wallet did not report an unreachable server")
            return
        }
        phone.device.setNetwork(false)
        guard case .failed(.noInternet) = await app.engine.perform(.unlockWithBiometrics(.match)) else {
            Issue.record("the wallet did not report a missing network")
            return
        }
        #expect(app.isLocked)
    }
}
