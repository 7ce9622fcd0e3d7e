package import Administration
package import AdminProtocol
internal import AuditLog
package import TestSupport
package import Transport
internal import Vocabulary

/// The commands of an operator.
extension InProcessServer {
    /// The operator's process.
    package static let peer = LocalPeer(userID: 4711, processID: 1)

    /// Carries a command out.
    @discardableResult
    package func give<Call: AdminCall>(_ call: Call) async throws(AdminFailure) -> Call.Reply {
        try await self.commands.carryOut(call, by: Self.peer)
    }

    /// Begins to replace the shares of all wallets and returns when each has next shares.
    package func refreshShares() async throws {
        let before = try await self.record().count { $0.event == .sharesOffered }
        try await self.give(RefreshShares())
        for _ in 0..<100_000 {
            if try await self.record().count(where: { $0.event == .sharesOffered }) > before { return }
            await Task.yield()
        }
        throw UnexpectedAnswer()
    }

    /// Carries a command out that may fail; returns the failure.
    package func refusal(of call: some AdminCall) async -> AdminFailure? {
        do throws(AdminFailure) {
            _ = try await self.give(call)
            return nil
        } catch {
            return error
        }
    }

    /// The record of a wallet.
    package func record(of wallet: TestWallet) async throws -> ShowWallet.Reply {
        try await self.give(ShowWallet(wallet.walletID))
    }
}
