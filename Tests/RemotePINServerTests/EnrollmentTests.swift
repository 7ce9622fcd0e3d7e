import AttestationVerifier
import WalletFlows
import SimulatedPhone
import RemotePINServer
import Secrets
import Statements
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore
import Wire

/// An enrollment on a separate connection, with the data to send Register once or repeatedly.
private struct Draft {
    let server: InProcessServer
    let device: SimulatedDevice
    let enrollment: Enrollment
    let evidence: DeviceEvidence

    init(_ server: InProcessServer, platform: Platform = .android, fault: Fault? = nil) async throws {
        var profile = DeviceProfile(platform)
        profile.fault = fault
        self.server = server
        self.device = try server.device(profile)
        let connection = try await server.endpoint.greet(platform)
        defer { connection.close() }
        let answer = try await connection.call(.beginEnrollment, timeout: TestWallet.patience)
        guard case .beginEnrollment(let enrollment) = answer else { throw UnexpectedAnswer(answer) }
        self.enrollment = enrollment
        self.evidence = try await self.device.createKey(challenge: .of(enrollment.token))
    }

    /// Sends the call, with the test's change, on a new connection.
    func send(
        pin: String = "135790",
        pair: TestWallet.PINPair = TestWallet.PINPair(),
        _ change: (inout Register) -> Void = { _ in }
    ) async throws -> CallResult {
        let connection = try await self.server.endpoint.greet(self.device.platform)
        defer { connection.close() }
        var call = try await TestWallet.registration(
            of: self.device,
            self.enrollment,
            pair: pair,
            pin: pin,
            on: connection,
            evidence: self.evidence
        )
        change(&call)
        return try await connection.call(.register(call), timeout: TestWallet.patience)
    }

    func answer(_ change: (inout Register) -> Void = { _ in }) async throws -> VerdictSummary {
        VerdictSummary(try await self.send(change))
    }
}

@Suite("Enrollment and registration")
struct EnrollmentTests {
    @Test("a token is accepted before its expiry and not from its expiry on")
    func expiry() async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server)
            #expect(draft.enrollment.expiresAt == server.clock.now() + .seconds(300))
            server.clock.advance(by: .seconds(300))
            #expect(try await draft.answer() == .refused(.challengeInvalid))
            server.clock.advance(by: .milliseconds(-1))
            #expect(try await draft.answer() == .other("register"))
        }
    }

    @Test("a token with any flipped bit is rejected")
    func forged() async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server)
            for position in draft.enrollment.token.indices {
                let answer = try await draft.answer { $0.token[position] ^= 0x01 }
                #expect(answer == .refused(.challengeInvalid), "byte \(position)")
            }
            #expect(try await draft.answer { $0.token.append(0) } == .refused(.challengeInvalid))
            #expect(try await draft.answer { $0.token = [1] } == .refused(.challengeInvalid))
        }
    }

    @Test("a used token is rejected before any other check")
    func used() async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server)
            let pair = TestWallet.PINPair()
            guard case .register = try await draft.send(pair: pair) else { throw UnexpectedAnswer() }
            try await draft.openSession()
            #expect(try await draft.answer() == .refused(.challengeInvalid))
            #expect(try await draft.answer { $0.body = [0xFF] } == .refused(.challengeInvalid))
            let junk = try #require(P256Signature(Array(repeating: 1, count: 64)))
            #expect(try await draft.answer { $0.pinSignature = junk } == .refused(.challengeInvalid))
        }
    }

    @Test("a repeated registration replaces the earlier one: one wallet, one PIN, new shares")
    func repeated() async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server)
            let first = try await draft.send(pin: "111222")
            let second = try await draft.send(pin: "333444")
            guard case .register(let old) = first, case .register(let new) = second else { throw UnexpectedAnswer() }
            #expect(!old.unlockShare.isEqual(to: new.unlockShare))
            #expect(old.deletionCode != new.deletionCode)
            // The earlier code belongs to no wallet.
            let connection = try await server.endpoint.connect()
            let code = try #require(old.deletionCode)
            #expect(await connection.answer(.revokeWithCode(code.characters)) == .other("not recognised"))
            #expect(try await server.store.identity(of: draft.enrollment.walletID)?.mayRegisterAgain == true)
        }
    }

    @Test("another hardware key cannot take over a token")
    func otherHardware() async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server)
            #expect(try await draft.answer() == .other("register"))
            // The same device makes another key for the same challenge: genuine, but not the
            // registered one.
            let other = try Draft(server, device: server.device(DeviceProfile(.android)), sharing: draft)
            _ = try await other.device.createKey(challenge: .of(draft.enrollment.token))
            let evidence = try await other.device.createKey(challenge: .of(draft.enrollment.token))
            let answer = try await Draft(other, evidence: evidence).answer()
            #expect(answer == .refused(.challengeInvalid))
        }
    }

    @Test("a wrong PIN signature or device proof ends the connection", arguments: Platform.allCases)
    func proofs(platform: Platform) async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server, platform: platform)
            let junk = try #require(P256Signature(Array(repeating: 1, count: 64)))
            #expect(try await draft.answer { $0.pinSignature = junk } == .refused(.authenticationFailed))
            for bytes in [junk.bytes, [1], Array(repeating: 0xA1, count: 1024)] {
                let proof = try #require(DeviceProof(bytes))
                #expect(try await draft.answer { $0.deviceProof = proof } == .refused(.authenticationFailed))
            }
            #expect(try await server.store.identity(of: draft.enrollment.walletID) == nil)
        }
    }

    @Test("a body that does not decode or has unknown fields is malformed")
    func body() async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server)
            #expect(try await draft.answer { $0.body = [0xFF, 0xFF] } == .refused(.malformed))
            // Field 15, a varint: unknown fields are rejected in a signed body.
            #expect(try await draft.answer { $0.body += [0x78, 0x01] } == .refused(.malformed))
        }
    }

    @Test(
        "evidence with a fault is rejected with the fault's reason, and the connection stays open",
        arguments: Platform.allCases.flatMap { platform in
            Fault.allCases.filter { $0.reason(on: platform) != nil && $0 != .counterReused }.map { (platform, $0) }
        }
    )
    func attestation(platform: Platform, fault: Fault) async throws {
        var options = InProcessServer.Options()
        options.android = { policy in
            policy.minimumOSPatchLevel = PatchLevel("2025-01")
            policy.minimumVendorPatchLevel = PatchLevel("2025-01")
            policy.minimumBootPatchLevel = PatchLevel("2025-01")
            policy.apps = policy.apps?.map { app in
                var app = app
                app.minimumVersion = 2
                return app
            }
        }
        options.usesStatusList = true
        try await InProcessServer.run(options) { server in
            let draft = try await Draft(server, platform: platform, fault: fault)
            let reason = try #require(fault.reason(on: platform))
            #expect(try await draft.answer() == .refused(.attestationRejected(reason)))
            #expect(server.log.lines.contains { $0.contains("attestation rejected: \(reason)") })
            #expect(try await server.store.identity(of: draft.enrollment.walletID) == nil)
        }
    }

    @Test("evidence made for another enrollment is rejected", arguments: Platform.allCases)
    func challenge(platform: Platform) async throws {
        try await InProcessServer.run { server in
            let (first, second) = (
                try await Draft(server, platform: platform), try await Draft(server, platform: platform)
            )
            let mixed = Draft(second, device: first.device, evidence: first.evidence)
            guard case .refused(.attestationRejected) = try await mixed.answer() else {
                Issue.record("accepted")
                return
            }
        }
    }

    @Test("while the solution is revoked, no enrollment can begin or complete")
    func solution() async throws {
        try await InProcessServer.run { server in
            let draft = try await Draft(server)
            _ = try await server.store.setSolutionRevoked(true)
            let connection = try await server.endpoint.greet()
            let revocation = Revocation(reason: .solution, mayRegisterAnew: false)
            #expect(await connection.answer(.beginEnrollment) == .refused(.revoked(revocation)))
            #expect(try await draft.answer() == .refused(.revoked(revocation)))
            _ = try await server.store.setSolutionRevoked(false)
            #expect(try await draft.answer() == .other("register"))
        }
    }

    @Test("without the feature, no wallet has a deletion code")
    func withoutCode() async throws {
        var options = InProcessServer.Options()
        options.rules.offersDeletionCode = false
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            #expect(wallet.deletionCode == nil)
            let session = try await wallet.openSession()
            #expect(try await session.answer(.showDeletionCode, pin: "135790") == .refused(.notAllowed))
            #expect(try await session.answer(.showDeletionCode, pin: "000000").isWrong)
        }
    }

    @Test("a registration without a session is removed after a day")
    func unopened() async throws {
        try await InProcessServer.run { server in
            let (kept, removed) = (try await server.wallet(), try await server.wallet())
            _ = try await kept.openSession()
            server.clock.advance(by: .seconds(86_400))
            await server.server.runDueTimers()
            #expect(try await server.store.identity(of: removed.walletID) != nil)
            server.clock.advance(by: .milliseconds(1))
            await server.server.runDueTimers()
            #expect(try await server.store.identity(of: removed.walletID) == nil)
            #expect(try await server.store.identity(of: kept.walletID) != nil)
            await #expect(throws: UnexpectedAnswer.self) { try await removed.openSession() }
        }
    }
}

extension Draft {
    /// Returns the same enrollment with other evidence or on another device.
    fileprivate init(_ draft: Draft, device: SimulatedDevice? = nil, evidence: DeviceEvidence) {
        self.server = draft.server
        self.device = device ?? draft.device
        self.enrollment = draft.enrollment
        self.evidence = evidence
    }

    fileprivate init(_ server: InProcessServer, device: SimulatedDevice, sharing draft: Draft) throws {
        self.server = server
        self.device = device
        self.enrollment = draft.enrollment
        self.evidence = draft.evidence
    }

    /// Opens the first session, after which the token is used.
    fileprivate func openSession() async throws {
        let connection = try await self.server.endpoint.greet(self.device.platform)
        let call = try await TestWallet.sessionCall(of: self.device, self.enrollment.walletID, on: connection)
        guard case .other("active") = await connection.answer(.openSession(call)) else { throw UnexpectedAnswer() }
    }
}
