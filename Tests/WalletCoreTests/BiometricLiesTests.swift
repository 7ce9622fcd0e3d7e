import DeviceInterface
import Secrets
import Synchronization
import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Replies that lie to a wallet with biometrics")
struct BiometricLiesTests {
    /// What an opened session may say instead.
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

    private static func tell(_ lie: Lie, on phone: TestPhone) {
        phone.server.withState { state in
            state.forge = { result in
                guard case .openSession(.active(let wallet)) = result else { return result }
                return lie.tell(wallet)
            }
        }
    }

    @Test("no lie of a session opens anything, deletes anything or leads back from the safe mode", arguments: Self.lies)
    func nothingChanges(lie: Lie) async throws {
        for mode in [BiometricMode.fallback, .safe] {
            let phone = TestPhone()
            _ = try await EngineUnderTest.setUp(phone, mode)
            let files = phone.disk.contents
            let items = phone.items
            Self.tell(lie, on: phone)
            let life = try phone.life()
            #expect(await life.unlock() != .done)
            #expect(life.isLocked)
            for file in [LocalFile.state, .accessData] {
                #expect(phone.disk.contents[file] == files[file], "\(mode): \(file)")
            }
            #expect(phone.items == items)
            phone.server.withState { $0.forge = nil }
            #expect(try await phone.opens(with: TestPhone.oldPIN))
        }
    }

    @Test("a flag that a liar turns costs at most a migration, which asks for the PIN and for the owner")
    func forgedFlag() async throws {
        let phone = TestPhone()
        _ = try await EngineUnderTest.setUp(phone, .fallback)
        Self.tell(.session("flag on") { $0.features.safeBiometricUnlock = true }, on: phone)
        let state = phone.disk.contents[.state]
        let life = try phone.life()
        #expect(await life.unlock() == .done)
        #expect(life.engine.facts().wantsSafeMode)
        #expect(phone.disk.contents[.state] == state)
        // The next life goes to the PIN and the prompt, and the one after it finds its way back.
        #expect(await (try phone.life()).migrate() == .done)
        phone.server.withState { $0.forge = nil }
        #expect(try phone.life().mode == .safe)
        #expect(try await phone.life().unlock() == .done)
        #expect(try phone.life().mode == .fallback)
        #expect(try await phone.opens(with: TestPhone.oldPIN))
    }

    @Test("a biometric slot is never made under a presence share that nobody has proven")
    func unprovenShare() async throws {
        let phone = TestPhone()
        _ = try await EngineUnderTest.setUp(phone, .off)
        let life = try phone.life()
        #expect(await life.check(TestPhone.oldPIN) == .done)
        // The connection of the PIN check ends; whoever answers the next one makes up a share.
        await life.engine.disconnect()
        Self.tell(.session("another presence share") { $0.presenceShare = .random() }, on: phone)
        _ = await life.perform(.askStatus)
        #expect(await life.enable() == .done)
        phone.server.withState { $0.forge = nil }
        #expect(try await phone.opens(with: TestPhone.oldPIN))
    }

    @Test(
        "a setup whose connection is lost takes no presence share from whoever answers next",
        arguments: [false, true]
    )
    func unprovenShareInSetup(isLiar: Bool) async throws {
        let phone = TestPhone()
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
        let life = try EngineUnderTest(phone)
        #expect(await life.perform(.enroll(EngineUnderTest.entry(TestPhone.oldPIN))) == .done)
        #expect(await life.enable() == (isLiar ? .failed : .done))
        phone.server.withState { $0.forge = nil }
        #expect(try await phone.opens(with: TestPhone.oldPIN))
    }

    @Test("after a revocation neither slot opens", arguments: [BiometricMode.fallback, .safe])
    func revoked(mode: BiometricMode) async throws {
        let phone = TestPhone()
        _ = try await EngineUnderTest.setUp(phone, mode)
        // The app was started, and had its session, before the revocation.
        let life = try phone.life()
        _ = await life.perform(.askUpdatePolicy)
        _ = await life.perform(.askStatus)
        phone.server.revokeAll(.wallet)
        #expect(await life.unlock() == .revoked)
        #expect(life.isLocked)
        let pin = await life.check(TestPhone.oldPIN)
        #expect(pin == (mode == .safe ? .failed : .revoked))
        #expect(life.isLocked)
        #expect(try await phone.life().unlock() == .revoked)
    }

    @Test("a wallet that is blocked for good gets no presence share, and says so")
    func blockedForGood() async throws {
        let phone = TestPhone()
        _ = try await EngineUnderTest.setUp(phone, .safe)
        phone.server.withState { state in
            for id in state.records.keys { state.records[id]?.isBlockedForGood = true }
        }
        let before = phone.disk.contents[.state]
        let life = try phone.life()
        #expect(await life.unlock() == .blockedForGood)
        #expect(life.isLocked)
        #expect(phone.disk.contents[.state] == before)
    }

    @Test("the server has to be reached for a biometric too")
    func unreachable() async throws {
        let phone = TestPhone()
        _ = try await EngineUnderTest.setUp(phone, .safe)
        phone.server.withState { $0.reachable = false }
        let life = try phone.life()
        guard case .failed(.serverUnreachable) = await life.engine.perform(.unlockWithBiometrics(.match)) else {
            Issue.record("it is not said that the server cannot be reached")
            return
        }
        phone.device.setNetwork(false)
        guard case .failed(.noInternet) = await life.engine.perform(.unlockWithBiometrics(.match)) else {
            Issue.record("it is not said that there is no network")
            return
        }
        #expect(life.isLocked)
    }
}
