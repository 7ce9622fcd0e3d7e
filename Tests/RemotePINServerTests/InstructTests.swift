import Secrets
import Statements
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

private let right = "135790"
private let wrong = "000000"
private let untouched = PINState.open(attemptsLeft: 4, finalRound: false)

@Suite("Instructions")
struct InstructTests {
    @Test("only the expected counter is accepted; any other consumes nothing")
    func counters() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            for counter: UInt64 in [2, 3, .max] {
                let call = try session.instructCall(pin: wrong, counter: counter)
                #expect(await session.connection.answer(.instruct(call)) == .refused(.outOfOrder))
            }
            #expect(try await server.pinState(wallet) == untouched)
            #expect(try await session.check(right) == wallet.unlockShare.asValid)
            let repeated = try session.instructCall(pin: right, counter: 1)
            #expect(await session.connection.answer(.instruct(repeated)) == .refused(.outOfOrder))
        }
    }

    @Test("a replayed instruction is rejected on its connection and on every other")
    func replay() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (mine, other) = (try await wallet.openSession(), try await wallet.openSession())
            let call = try mine.instructCall(pin: right)
            #expect(await mine.connection.answer(.instruct(call)) == wallet.unlockShare.asValid)
            #expect(await mine.connection.answer(.instruct(call)) == .refused(.outOfOrder))
            #expect(await other.connection.answer(.instruct(call)) == .refused(.authenticationFailed))
            #expect(await happens { await other.connection.closed() })
        }
    }

    @Test("a signature that is not the candidate's ends the connection and costs no attempt")
    func signature() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            for tamper in 0..<5 {
                let session = try await wallet.openSession()
                var call = try session.instructCall(pin: wrong)
                switch tamper {
                case 0: call.pinSignature = try #require(P256Signature(Array(repeating: 0, count: 64)))
                case 1: call.pinSignature = try #require(P256Signature(Array(repeating: 0xFF, count: 64)))
                case 2: call.pinSignature = try session.instructCall(pin: right, counter: 1).pinSignature
                case 3:
                    // The candidate is not a point on the curve.
                    var body = try InstructBody(decoding: call.body)
                    var key = body.candidate.bytes
                    key[64] ^= 1
                    body.candidate = try #require(P256PublicKey(key))
                    call.body = body.encoded()
                default: call.body[5] ^= 1
                }
                #expect(await session.connection.answer(.instruct(call)) == .refused(.authenticationFailed))
                #expect(await happens { await session.connection.closed() })
            }
            #expect(try await server.pinState(wallet) == untouched)
        }
    }

    @Test("one connection's false signature changes no other verdict that is given at the same time")
    func falseSignatureAmongTrueOnes() async throws {
        try await InProcessServer.run { server in
            var honest: [(session: TestSession, calls: [Instruct])] = []
            for _ in 0..<4 {
                let session = try await server.wallet().openSession()
                honest.append((session, try (0..<6).map { try session.instructCall(pin: $0 == 0 ? wrong : right) }))
            }
            for round in 0..<6 {
                let forger = try await server.wallet()
                let session = try await forger.openSession()
                var forged = try session.instructCall(pin: right)
                forged.body[5] ^= 1
                async let refused = session.connection.answer(.instruct(forged))
                await withTaskGroup { group in
                    for (session, calls) in honest {
                        group.addTask {
                            let answer = await session.connection.answer(.instruct(calls[round]))
                            return round == 0 ? answer.isWrong : answer == session.wallet.unlockShare.asValid
                        }
                    }
                    for await isRight in group { #expect(isRight) }
                }
                #expect(await refused == .refused(.authenticationFailed))
                #expect(try await server.pinState(forger) == untouched)
            }
        }
    }

    @Test("a malformed body is malformed and an unknown instruction unsupported; both consume the counter")
    func body() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            var call = try session.instructCall(pin: wrong)
            call.body = [0xFF]
            #expect(await session.connection.answer(.instruct(call)) == .refused(.malformed))
            call = try session.instructCall(pin: wrong)
            call.body += [0x98, 0x06, 0x01]
            #expect(await session.connection.answer(.instruct(call)) == .refused(.malformed))
            #expect(try await server.pinState(wallet) == untouched)
            #expect(try await session.check(right).isValid)
        }
    }

    @Test("a repeated attempt after a lost reply costs nothing and is no oracle for another PIN")
    func lostReply() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let attempt = AttemptID.random()
            let verdict = VerdictSummary.wrong(.open(attemptsLeft: 3, finalRound: false))
            #expect(try await session.check(wrong, attempt: attempt) == verdict)
            #expect(try await session.check(wrong, attempt: attempt) == verdict)
            // On another connection neither, and the answer does not even distinguish the right
            // PIN.
            let other = try await wallet.openSession()
            #expect(try await other.check(right, attempt: attempt) == verdict)
            #expect(try await other.check(wrong, attempt: attempt) == verdict)
            #expect(try await server.pinState(wallet) == .open(attemptsLeft: 3, finalRound: false))
            let again = AttemptID.random()
            #expect(try await other.check(right, attempt: again) == wallet.unlockShare.asValid)
            #expect(try await other.check(right, attempt: again) == wallet.unlockShare.asValid)
            #expect(try await server.pinState(wallet) == untouched)
        }
    }

    @Test("a change of the PIN applies at once to every open session")
    func changePIN() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let old = wallet.pinPair
            let sessions = [
                try await wallet.openSession(), try await wallet.openSession(), try await wallet.openSession(),
            ]
            #expect(VerdictSummary(try await sessions[0].changePIN(from: wrong, to: "246802")).isWrong)
            #expect(VerdictSummary(try await sessions[0].changePIN(from: right, to: "246802")) == .pinChanged)
            #expect(wallet.pinPair.id != old.id)
            for session in sessions {
                let late = try session.instructCall(pin: right, pair: old)
                let changed = VerdictSummary.refused(.pinKeyChanged(current: wallet.pinPair.id))
                #expect(await session.connection.answer(.instruct(late)) == changed)
                #expect(try await session.check(right).isWrong)
                #expect(try await session.check("246802") == wallet.unlockShare.asValid)
            }
            guard case .active(let active) = try await wallet.openSession().opening else { throw UnexpectedAnswer() }
            #expect(active.pinKeyID == wallet.pinPair.id)
        }
    }

    @Test("an old PIN is wrong on every open session, even if a client reuses its PIN key's id for another PIN")
    func reusedKeyID() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let first = wallet.pinPair
            let (old, new) = (try await wallet.openSession(), try await wallet.openSession())
            #expect(try await old.check(right).isValid)
            #expect(VerdictSummary(try await new.changePIN(from: right, to: "246802")) == .pinChanged)
            #expect(VerdictSummary(try await new.changePIN(from: "246802", to: "975310", id: first.id)) == .pinChanged)
            // The id that the old session opened is current again, but its key is not.
            let replaced = try old.instructCall(pin: right, pair: first)
            #expect(await old.connection.answer(.instruct(replaced)).isWrong)
            #expect(try await old.check("975310") == wallet.unlockShare.asValid)
            #expect(try await new.check("975310") == wallet.unlockShare.asValid)
        }
    }

    @Test("a change of the PIN needs the new PIN's signature, and no other instruction may carry one")
    func newSignature() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let pair = TestWallet.PINPair()
            let change = Instruction.changePIN(newKey: try pair.key(for: "246802").publicKey, newKeyID: pair.id)
            let session = try await wallet.openSession()
            func answer(_ call: Instruct) async -> VerdictSummary { await session.connection.answer(.instruct(call)) }
            #expect(await answer(try session.instructCall(change, pin: right)) == .refused(.malformed))
            let unasked = try session.instructCall(pin: right, newPIN: (pair, "246802"))
            #expect(await answer(unasked) == .refused(.malformed))
            let same = Instruction.changePIN(newKey: try pair.key(for: "246802").publicKey, newKeyID: wallet.pinPair.id)
            let current = try session.instructCall(same, pin: right, newPIN: (pair, "246802"))
            #expect(await answer(current) == .refused(.malformed))
            let foreign = try session.instructCall(change, pin: right, newPIN: (pair, "111222"))
            #expect(await answer(foreign) == .refused(.authenticationFailed))
            #expect(await happens { await session.connection.closed() })
            #expect(try await wallet.openSession().check(right) == wallet.unlockShare.asValid)
        }
    }

    @Test("a PIN that was right before is judged again, and not during a block that another session began")
    func earlierRightPIN() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            #expect(try await first.check(right) == wallet.unlockShare.asValid)
            for _ in 0..<AttemptPolicy.standard.attemptsPerRound { _ = try await second.check(wrong) }
            let block = try AttemptPolicy.standard.blocks.first.orThrow()
            #expect(try await first.check(right) == .blocked(remaining: block))
        }
    }

    @Test("the first recovery code stays linked; linking it again succeeds, another is rejected")
    func recoveryCode() async throws {
        try await InProcessServer.run { server in
            let session = try await server.wallet().openSession()
            #expect(try await session.answer(.linkRecoveryCode("NL-123"), pin: wrong).isWrong)
            #expect(try await session.answer(.linkRecoveryCode("NL-123"), pin: right) == .recoveryCodeLinked)
            #expect(try await session.answer(.linkRecoveryCode("NL-123"), pin: right) == .recoveryCodeLinked)
            #expect(try await session.answer(.linkRecoveryCode("NL-9"), pin: right) == .refused(.notAllowed))
        }
    }

    @Test("only the right PIN reveals the deletion code")
    func deletionCode() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await session.answer(.showDeletionCode, pin: wrong).isWrong)
            let code = try #require(wallet.deletionCode)
            #expect(try await session.answer(.showDeletionCode, pin: right) == .deletionCode(code))
        }
    }

    @Test("the log holds no secret of a wallet")
    func logWithoutSecrets() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let code = try #require(wallet.deletionCode)
            _ = try await session.check(wrong)
            _ = try await session.check(right)
            _ = try await session.answer(.showDeletionCode, pin: right)
            _ = await session.connection.answer(.revokeWithCode(code.grouped))
            let log = server.log.lines.joined(separator: "\n").lowercased()
            let key = try wallet.pinPair.key(for: right).publicKey
            for secret in [
                right, code.characters, code.grouped, wallet.unlockShare.exposedBytes().hex, key.bytes.hex,
            ] {
                #expect(!log.contains(secret.lowercased()))
            }
        }
    }
}
