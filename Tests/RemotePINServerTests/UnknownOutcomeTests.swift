import ServerTestSupport
import Synchronization
import TestSupport
import Testing
import Vocabulary
import WalletStore

@Suite("Commits with an unknown outcome")
struct UnknownOutcomeTests {
    @Test("a verdict whose commit is not confirmed is not sent; the connection closes, and a later one is served")
    func verdict() async throws {
        let fails = Atomic(true)
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(
                store: store,
                gate: Gate(),
                judging: { (_: WalletID, isDone: Bool) throws(StoreError) in
                    if isDone, fails.load(ordering: .relaxed) { throw .outcomeUnknown }
                }
            )
        }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            for pin in ["000000", "135790"] {
                let session = try await wallet.openSession()
                #expect(try await session.check(pin) == .closed)
            }
            fails.store(false, ordering: .relaxed)
            let session = try await wallet.openSession()
            guard case .valid = try await session.check("135790") else {
                Issue.record("not valid")
                return
            }
        }
    }
}
