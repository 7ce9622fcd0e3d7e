internal import Logging
internal import RemotePINServer
internal import Vocabulary
internal import WalletStore

// The consequences of a revocation that is committed.
//
// The reply to a revocation guarantees that no more data of the wallet leaves this server (G7): the store commits,
// then the wallet's connections are settled, and only then does the reply leave.

/// The kind of command that revoked wallets.
enum RevocationCause {
    case `operator`
    case recoveryCode

    fileprivate var revocation: Revocation {
        switch self {
        case .operator: Revocation(reason: .wallet, mayRegisterAnew: true)
        case .recoveryCode: Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        }
    }

    fileprivate var line: Logger.Message {
        switch self {
        case .operator: "wallet revoked by an operator"
        case .recoveryCode: "wallet revoked by its recovery code"
        }
    }
}

extension AdminService {
    /// Ends the wallets' connections, and reports the wallets that were revoked at `now` to the log and the hooks.
    ///
    /// - Parameter now: the time of the revocation; nil if it revoked no wallet, because all were revoked before.
    func settle(_ wallets: some Collection<WalletID>, endedAt now: Timestamp?, by cause: RevocationCause) async {
        await self.server.settle(wallets)
        guard let now else { return }
        for wallet in Set(wallets) {
            // If the store does not answer, a repeated report is better than a missing one.
            if let report = try? await self.server.store.report(of: wallet), report.revokedAt != now { continue }
            self.server.log.notice(cause.line, metadata: ["wallet": "\(wallet)"])
            self.server.report(.revoked(wallet, cause.revocation))
        }
    }
}
