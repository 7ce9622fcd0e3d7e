import AuditLog
import ServerTestSupport
import Synchronization
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore
import Wire

@Suite("Commits with an unknown outcome")
struct UnknownOutcomeTests {
    /// The calls that change the store.
    enum Step: CaseIterable, Sendable {
        case register, openSession, wrongPIN, rightPIN, changePIN, linkRecoveryCode, confirmShares, revokeWithCode
        case reportWipe
    }

    @Test(
        "a call whose commit is not confirmed is not answered; the connection closes, and a repetition is answered",
        arguments: Step.allCases
    )
    func unanswered(step: Step) async throws {
        let fails = Atomic(false)
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(
                store: store,
                gate: Gate(),
                committed: { () throws(StoreError) in if fails.load(ordering: .relaxed) { throw .outcomeUnknown } }
            )
        }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            try await server.refreshShares()
            let session = try await wallet.openSession()
            #expect(try await session.check("135790").isValid, "and the next shares are offered")
            fails.store(true, ordering: .relaxed)
            try await #expect(self.answer(to: step, in: session, server) == .closed)
            fails.store(false, ordering: .relaxed)
            let later = try await wallet.openSession()
            try await #expect(self.answer(to: step, in: later, server) != .closed)
        }
    }

    @Test("a deletion whose commit had an unknown outcome is recorded as done when it is repeated")
    func recorded() async throws {
        let isUnknown = Atomic(false)
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(
                store: store,
                gate: Gate(),
                // The commit has taken place.
                committed: { () throws(StoreError) in if isUnknown.load(ordering: .relaxed) { throw .outcomeUnknown } }
            )
        }
        try await InProcessServer.run(options) { server in
            let code = try await server.wallet().deletionCode.orThrow().characters
            isUnknown.store(true, ordering: .relaxed)
            let first = try await server.endpoint.connect()
            #expect(await first.answer(.revokeWithCode(code)) == .closed)
            isUnknown.store(false, ordering: .relaxed)
            let second = try await server.endpoint.connect()
            #expect(await second.answer(.revokeWithCode(code)) != .closed)
            let record = try await server.record().filter { $0.event == .deletionCode }
            let isDone = record.contains { entry in
                switch entry.phase {
                case .done: true
                case .begun, .failed, .unclear: false
                }
            }
            #expect(record.count == 2 && isDone, "\(record)")
        }
    }

    private func answer(
        to step: Step,
        in session: TestSession,
        _ server: InProcessServer
    ) async throws -> VerdictSummary {
        do {
            switch step {
            case .register:
                _ = try await server.wallet()
                return .other("registered")
            case .openSession:
                _ = try await session.wallet.openSession()
                return .other("opened")
            case .wrongPIN: return try await session.check("000000")
            case .rightPIN: return try await session.check("135790")
            case .changePIN: return VerdictSummary(try await session.changePIN(from: "135790", to: "246813"))
            case .linkRecoveryCode:
                return try await session.answer(.linkRecoveryCode("NL-1"), pin: "135790")
            case .confirmShares:
                let confirmation = ConfirmShares(unlock: true, presence: true)
                return await session.connection.answer(.confirmShares(confirmation))
            case .revokeWithCode:
                let code = try session.wallet.deletionCode.orThrow().characters
                return try await server.endpoint.connect().answer(.revokeWithCode(code))
            case .reportWipe: return await session.connection.answer(.reportWipe)
            }
        } catch CallError.closed {
            return .closed
        }
    }
}
