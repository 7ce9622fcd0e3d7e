import Secrets
import TestSupport
import Testing
import Vocabulary
import Wire

/// G6, and the wallet's trust in its server: a proxy with a trusted certificate gets nothing accepted or deleted.
@Suite("A proxy that the wallet trusts")
struct InterceptingProxyTests {
    private static let pin = "024791"

    private let lab: LabUnderTest
    private let phone: CommandLinePhone
    private let server: ServerProcess

    init() async throws {
        self.lab = try await LabUnderTest()
        self.server = try await self.lab.start()
        self.phone = CommandLinePhone(in: self.lab)
        try await self.phone.setUp(pin: Self.pin)
    }

    @Test("the server rejects relayed instructions, because their proofs belong to another connection")
    func relay() async throws {
        let proxy = try await InterceptingProxy(before: self.lab) { _, relayed in try await relayed() }
        let before = try self.phone.ownFiles()
        for (command, pins) in [("unlock", [Self.pin]), ("change-pin", [Self.pin, "135790"]), ("open", [])] {
            let run = try await self.phone.run(command, pins: pins, at: proxy.folder)
            #expect(command == "open" || run.exitCode != 0, "\(run.output)")
        }
        #expect(try self.phone.ownFiles() == before)
        #expect(try await self.phone.counted() == 0)
        let other = CommandLinePhone(in: self.lab, "other")
        #expect(try await other.run("setup", pins: [Self.pin], at: proxy.folder).exitCode != 0)
        #expect(throws: UnexpectedAnswer.self) { try other.registration() }
        await self.server.terminate()
    }

    /// The proxy's answer to OpenSession and to the calls after it.
    enum Forgery: String, CaseIterable {
        case revokedByUser, revokedByOperator, recoveryCodeRevoked, solutionRevoked, unknownWallet
        case valid, pinChanged, anotherPINKey, pinKeyChanged, wrong, blocked, blockedPermanently, deletionCode
        case instructionRevoked, instructionNotAllowed, versionBlocked
    }

    @Test("no forged reply makes the wallet delete or rewrite anything", arguments: Forgery.allCases)
    func forgery(_ forgery: Forgery) async throws {
        let keyID = try self.phone.registration().pinKeyID
        let proxy = try await InterceptingProxy(before: self.lab) { call, relayed in
            switch call {
            case .hello:
                guard case .hello(let terms) = try await relayed() else { throw UnexpectedAnswer() }
                return .hello(forgery.terms(terms))
            case .openSession: return forgery.opening(keyID)
            case .instruct: return try forgery.result()
            case .beginEnrollment, .register, .revokeWithCode, .reportWipe, .confirmShares, .unknown:
                throw UnexpectedAnswer()
            }
        }
        let before = try self.phone.ownFiles()
        let device = try self.phone.files("device")
        for (command, pins) in [
            ("open", []), ("status", []), ("unlock", [Self.pin]), ("unlock", ["864209"]),
            ("change-pin", [Self.pin, "135790"]), ("show-deletion-code", [Self.pin]),
        ] {
            let run = try await self.phone.run(command, pins: pins, at: proxy.folder)
            #expect(pins.isEmpty || run.exitCode != 0, "\(command): \(run.output)")
        }
        #expect(try self.phone.ownFiles() == before)
        #expect(try self.phone.files("device") == device)
        #expect(try await self.phone.counted() == 0)
        let run = try await self.phone.run("unlock", pins: [Self.pin])
        #expect(run.exitCode == 0, "\(run.output)")
        await self.server.terminate()
    }
}

extension InterceptingProxyTests.Forgery {
    /// The terms in the proxy's reply to Hello.
    func terms(_ terms: ServerTerms) -> ServerTerms {
        var terms = terms
        terms.solutionRevoked = self == .solutionRevoked
        if self == .versionBlocked { terms.update = .block(updateAvailable: false) }
        return terms
    }

    /// The proxy's reply to OpenSession.
    func opening(_ keyID: PINKeyID) -> CallResult {
        func revoked(_ reason: Revocation.Reason) -> CallResult {
            .openSession(.revoked(Revocation(reason: reason, mayRegisterAnew: true)))
        }
        switch self {
        case .revokedByUser: return revoked(.user)
        case .revokedByOperator: return revoked(.wallet)
        case .recoveryCodeRevoked: return revoked(.recoveryCode)
        case .solutionRevoked: return revoked(.solution)
        case .unknownWallet: return .refused(Refusal(.authenticationFailed))
        case .valid, .pinChanged, .anotherPINKey, .pinKeyChanged, .wrong, .blocked, .blockedPermanently,
            .deletionCode, .instructionRevoked, .instructionNotAllowed, .versionBlocked:
            let wallet = ActiveWallet(
                pinKeyID: self == .anotherPINKey ? .random() : keyID,
                pinState: .open(attemptsLeft: GuessingWallet.allowance, finalRound: true),
                attempts: AttemptCounts(number: 0, wrongPINs: 0, lastWrong: nil, epoch: 1),
                features: Features(deletionCode: true, safeBiometricUnlock: false),
                presenceShare: .random()
            )
            return .openSession(.active(wallet))
        }
    }

    /// The proxy's reply to any Instruct.
    func result() throws -> CallResult {
        switch self {
        case .valid, .anotherPINKey: .instruct(.pinValid(unlockShare: .random()))
        case .pinChanged: .instruct(.pinChanged)
        case .pinKeyChanged: .refused(Refusal(.pinKeyChanged(current: .random())))
        case .wrong: .instruct(.wrong(.open(attemptsLeft: 1, finalRound: true)))
        case .blocked: .instruct(.blocked(remaining: .seconds(60)))
        case .blockedPermanently: .instruct(.blockedPermanently)
        case .deletionCode: .instruct(.deletionCode(try DeletionCode("0123456789ABCDEFGH").orThrow()))
        case .instructionRevoked:
            .refused(Refusal(.revoked(Revocation(reason: .user, mayRegisterAnew: true))))
        case .instructionNotAllowed, .revokedByUser, .revokedByOperator, .recoveryCodeRevoked, .solutionRevoked,
            .unknownWallet, .versionBlocked:
            .refused(Refusal(.notAllowed))
        }
    }
}
