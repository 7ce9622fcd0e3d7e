import SimulatedPhone
import Secrets
import ServerTestSupport
import Synchronization
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore
import Wire

@testable import RemotePINServer

@Suite("Opening a session")
struct SessionTests {
    @Test(
        "an unknown wallet and a wrong proof get the same answer, and the connection ends",
        arguments: Platform.allCases
    )
    func authentication(platform: Platform) async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(platform), try await server.wallet(platform))
            for walletID in [WalletID.random(), other.walletID] {
                let connection = try await server.endpoint.greet(platform)
                let call = try await TestWallet.sessionCall(of: wallet.device, walletID, on: connection)
                #expect(await connection.answer(.openSession(call)) == .refused(.authenticationFailed))
                #expect(await happens { await connection.closed() })
            }
        }
    }

    @Test(
        "rejected proofs are answered at the same moment, whether or not the wallet exists",
        arguments: [true, false]
    )
    func rejectionTime(isKnown: Bool) async throws {
        // The clock stands still, so every rejected call has to wait until the same moment.
        let arrival = ContinuousClock.now
        let waits = Mutex<[ContinuousClock.Instant]>([])
        var options = InProcessServer.Options()
        options.time.now = { arrival }
        options.time.sleepUntil = { [sleepUntil = options.time.sleepUntil] moment in
            waits.withLock { $0.append(moment) }
            try await sleepUntil(moment)
        }
        try await InProcessServer.run(options) { server in
            let (wallet, other) = (try await server.wallet(.android), try await server.wallet(.android))
            for count in 1...5 {
                let connection = try await server.endpoint.greet(.android)
                let walletID = isKnown ? other.walletID : .random()
                let call = try await TestWallet.sessionCall(of: wallet.device, walletID, on: connection)
                #expect(await connection.answer(.openSession(call)) == .refused(.authenticationFailed))
                #expect(ContinuousClock.now - arrival >= Conversation.rejectionInterval)
                let rejections = waits.withLock { $0.count { $0 == arrival + Conversation.rejectionInterval } }
                #expect(rejections == count)
            }
        }
    }

    @Test("the form of a proof never decides the form that is required", arguments: Platform.allCases)
    func form(platform: Platform) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet(platform)
            let other = try await server.wallet(platform == .android ? .iOS : .android)
            for proof: [UInt8] in [Array(repeating: 0, count: 64), [0xA0], Array(repeating: 0xA2, count: 1024)] {
                let connection = try await server.endpoint.greet(platform)
                var call = try await wallet.sessionCall(on: connection)
                call.deviceProof = try #require(DeviceProof(proof))
                #expect(await connection.answer(.openSession(call)) == .refused(.authenticationFailed))
            }
            let connection = try await server.endpoint.greet(platform)
            let call = try await TestWallet.sessionCall(of: other.device, wallet.walletID, on: connection)
            #expect(await connection.answer(.openSession(call)) == .refused(.authenticationFailed))
        }
    }

    @Test("a proof is rejected on another connection", arguments: Platform.allCases)
    func relay(platform: Platform) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet(platform)
            let (mine, other) = (try await server.endpoint.greet(platform), try await server.endpoint.greet(platform))
            let call = try await wallet.sessionCall(on: mine)
            #expect(await other.answer(.openSession(call)) == .refused(.authenticationFailed))
            #expect(await mine.answer(.openSession(call)) == .other("active"))
        }
    }

    @Test("an assertion whose counter does not exceed the last one's is rejected")
    func assertionCounter() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet(.iOS)
            let (early, late) = (try await server.endpoint.greet(.iOS), try await server.endpoint.greet(.iOS))
            let earlier = try await wallet.sessionCall(on: early)
            let later = try await wallet.sessionCall(on: late)
            #expect(await late.answer(.openSession(later)) == .other("active"))
            #expect(await early.answer(.openSession(earlier)) == .refused(.authenticationFailed))
            #expect(server.log.lines.contains { $0.contains("assertion counter") })
        }
    }

    @Test("a connection has at most one session")
    func second() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let again = try await wallet.sessionCall(on: session.connection)
            #expect(await session.connection.answer(.openSession(again)) == .refused(.notAllowed))
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        }
    }

    @Test("after a session's lifetime its connection stays open, and calls that need it get session-required")
    func lifetime() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            server.clock.advance(by: .seconds(900) - .milliseconds(1))
            await server.server.runDueTimers()
            #expect(try await session.check("135790").isValid)
            server.clock.advance(by: .milliseconds(1))
            #expect(try await session.check("135790") == .refused(.sessionRequired))
            for _ in 0..<3 {
                await server.server.runDueTimers()
                #expect(server.server.state.registry.sessionCount == 0)
                #expect(try await session.check("135790") == .refused(.sessionRequired))
                #expect(await session.connection.answer(.reportWipe) == .refused(.sessionRequired))
            }
        }
    }

    @Test("before Hello only a deletion code is accepted")
    func helloFirst() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let connection = try await server.endpoint.connect()
            #expect(await connection.answer(.beginEnrollment) == .refused(.notAllowed))
            #expect(await connection.answer(.reportWipe) == .refused(.notAllowed))
            let call = try await wallet.sessionCall(on: connection)
            #expect(await connection.answer(.openSession(call)) == .refused(.notAllowed))
            #expect(await connection.answer(.revokeWithCode("0123-4567-89AB-CDEF-GH")) == .other("not recognised"))
        }
    }

    @Test("without a session, instructions and wipe reports are rejected")
    func sessionRequired() async throws {
        try await InProcessServer.run { server in
            let session = try await server.wallet().openSession()
            let connection = try await server.endpoint.greet()
            let call = try session.instructCall(pin: "135790")
            #expect(await connection.answer(.instruct(call)) == .refused(.sessionRequired))
            #expect(await connection.answer(.reportWipe) == .refused(.sessionRequired))
        }
    }

    @Test("a blocked version gets Hello's verdict, no share, and only its wipe report is accepted")
    func blockedVersion() async throws {
        var options = InProcessServer.Options()
        options.rules.updates = UpdatePolicy(android: UpdatePolicy.Versions(minimum: AppVersion("2.0")))
        try await InProcessServer.run(options) { server in
            var profile = DeviceProfile(.android)
            profile.appVersion = "2.0"
            let wallet = try await TestWallet.register(
                at: server.endpoint,
                folder: server.folder.path,
                profile: profile,
                pin: "135790"
            )
            let connection = try await server.endpoint.connect()
            let hello = Hello(
                appVersion: try AppVersion("1.9").orThrow(),
                platform: .android,
                osVersion: try DeviceText("16").orThrow()
            )
            guard case .hello(let terms) = try await connection.call(.hello(hello), timeout: TestWallet.patience) else {
                throw UnexpectedAnswer()
            }
            #expect(terms.update == .block(updateAvailable: true))
            #expect(await connection.answer(.beginEnrollment) == .refused(.notAllowed))
            let call = try await wallet.sessionCall(on: connection)
            let answer = try await connection.call(.openSession(call), timeout: TestWallet.patience)
            guard case .openSession(.active(let active)) = answer else { throw UnexpectedAnswer(answer) }
            #expect(active.presenceShare == nil)
            let session = TestSession(wallet: wallet, connection: connection, opening: .active(active))
            #expect(try await session.check("135790") == .refused(.notAllowed))
            #expect(await connection.answer(.reportWipe) == .other("reportWipe"))
        }
    }

    @Test("the presence share comes with every session, the same each time, until the permanent block")
    func presenceShare() async throws {
        var options = InProcessServer.Options()
        options.rules.attempts = try AttemptPolicy(rounds: 1, attemptsPerRound: 1, blocks: []).orThrow()
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            guard case .active(let one) = first.opening, case .active(let two) = second.opening,
                let share = one.presenceShare, let again = two.presenceShare
            else { throw UnexpectedAnswer() }
            #expect(share.isEqual(to: again))
            #expect(!share.isEqual(to: wallet.unlockShare))
            #expect(try await second.check("000000") == .wrong(.blockedPermanently))
            // The block closes the wallet's other connections.
            await first.connection.closed()
            guard case .active(let last) = try await wallet.openSession().opening else { throw UnexpectedAnswer() }
            #expect(last.presenceShare == nil)
            #expect(last.pinState == .blockedPermanently)
        }
    }

    @Test("a failing store or vault is never a verdict: the answer is unavailable, with an id that the log holds")
    func unavailable() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            await server.store.close()
            let call = try session.instructCall(pin: "000000")
            let answer = try await session.connection.call(.instruct(call), timeout: TestWallet.patience)
            guard case .refused(let refusal) = answer, case .unavailable(let retryAfter) = refusal.reason else {
                throw UnexpectedAnswer(answer)
            }
            #expect(retryAfter > .zero)
            #expect(server.log.lines.contains { $0.contains("correlation=\(refusal.correlationID)") })
        }
    }
}
