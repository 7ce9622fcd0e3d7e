import Secrets
import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("False replies")
struct ForgedRepliesTests {
    /// False answers of a proxy that the wallet trusts.
    static let lies: [(String, @Sendable (CallResult) -> CallResult)] = [
        ("valid with another share", Self.insteadOfInstruct(.instruct(.pinValid(unlockShare: .random())))),
        ("PIN changed", Self.insteadOfInstruct(.instruct(.pinChanged))),
        ("a deletion code", Self.insteadOfInstruct(.instruct(.deletionCode(.random())))),
        ("blocked for good", Self.insteadOfInstruct(.instruct(.blockedPermanently))),
        ("another PIN key", Self.insteadOfInstruct(.refused(Refusal(.pinKeyChanged(current: .random()))))),
        (
            "revoked",
            Self.insteadOfInstruct(.refused(Refusal(.revoked(Revocation(reason: .user, mayRegisterAnew: true)))))
        ),
        ("challenge invalid", Self.insteadOfInstruct(.refused(Refusal(.challengeInvalid)))),
        ("unknown wallet", Self.insteadOfSession(.refused(Refusal(.authenticationFailed)))),
        (
            "a revoked wallet",
            Self.insteadOfSession(.openSession(.revoked(Revocation(reason: .wallet, mayRegisterAnew: true))))
        ),
        ("another answer altogether", Self.insteadOfSession(.reportWipe)),
    ]

    private static func insteadOfInstruct(_ lie: CallResult) -> @Sendable (CallResult) -> CallResult {
        { result in
            if case .instruct = result { return lie }
            return result
        }
    }

    private static func insteadOfSession(_ lie: CallResult) -> @Sendable (CallResult) -> CallResult {
        { result in
            if case .openSession = result { return lie }
            return result
        }
    }

    @Test("no reply without the right share makes the wallet delete or rewrite its data", arguments: 0..<10)
    func nothingChanges(index: Int) async throws {
        let (name, lie) = Self.lies[index]
        let phone = FakePhone()
        _ = try await phone.setUp()
        let before = phone.disk.contents
        phone.server.withState { $0.forge = lie }
        #expect(try await !phone.unlocks(with: FakePhone.oldPIN), "\(name)")
        for file in [LocalFile.state, .accessData] {
            #expect(phone.disk.contents[file] == before[file], "\(name): \(file)")
        }
        phone.server.withState { $0.forge = nil }
        #expect(try await phone.unlocks(with: FakePhone.oldPIN), "\(name)")
    }

    @Test("a false reply that names a PIN key that never arrived and calls the PIN valid removes no pair")
    func forgedSuccessor() async throws {
        let phone = FakePhone()
        let app = try await EngineUnderTest.setUp(phone)
        #expect(await app.check(FakePhone.oldPIN) == .done)
        phone.server.withState { $0.reachable = false }
        #expect(await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN) == .failed)
        let change = Effect.changePIN(
            old: EngineUnderTest.entry(FakePhone.oldPIN),
            new: EngineUnderTest.entry(FakePhone.newPIN)
        )
        #expect(await app.perform(change) == .failed)
        let successor = try #require(app.registration?.pairs.last)
        #expect(app.registration?.pairs.count == 2)
        phone.server.withState { state in
            state.reachable = true
            state.forge = { result in
                switch result {
                case .openSession(.active(let opened)):
                    var active = opened
                    active.pinKeyID = successor.id
                    return .openSession(.active(active))
                case .instruct: return .instruct(.pinValid(unlockShare: .random()))
                case _: return result
                }
            }
        }
        let next = try phone.process()
        #expect(await next.check(FakePhone.newPIN) == .failed)
        #expect(next.isLocked)
        #expect(next.registration?.pairs.count == 2)
        phone.server.withState { $0.forge = nil }
        #expect(try await phone.opens(with: FakePhone.oldPIN))
    }

    @Test("a cached revocation applies while the server cannot be reached, and the next launch asks again")
    func revocationIsAskedAgain() async throws {
        let phone = FakePhone()
        _ = try await phone.setUp()
        let liar = Revocation(reason: .wallet, mayRegisterAnew: true)
        phone.server.withState { state in
            state.forge = { result in
                if case .openSession = result { return .openSession(.revoked(liar)) }
                return result
            }
        }
        #expect(await (try phone.wallet()).launch().step == "UC1.2/5.1")
        phone.server.withState {
            $0.forge = nil
            $0.reachable = false
        }
        #expect(await (try phone.wallet()).launch().step == "UC1.2/5.1")
        phone.server.withState { $0.reachable = true }
        #expect(await (try phone.wallet()).launch().step == "UC2.3/1.3")
    }

    @Test("a wrong PIN whose reply is lost costs one attempt, however often it is repeated")
    func lostReply() async throws {
        let phone = FakePhone()
        _ = try await phone.setUp()
        let wallet = try phone.wallet()
        _ = await wallet.launch()
        // The request of the instruction is the first place, its answer the second.
        phone.crashPoint.arm(nil)
        phone.server.withState { state in
            state.forge = { result in
                guard case .instruct = result else { return result }
                return .refused(Refusal(.sessionRequired))
            }
        }
        _ = try await wallet.enter(PINInput(typed: FakePhone.newPIN.utf8))
        phone.server.withState { $0.forge = nil }
        _ = try? await wallet.perform(.retry)
        #expect(phone.server.onlyRecord?.wrongAttempts == 1)
    }
}
