internal import AdminProtocol
internal import Logging
internal import RemotePINServer
internal import Vocabulary
internal import WalletStore

// The effects of a revocation after it has been committed.
//
// The reply to a revocation guarantees that no more of the wallet's data leaves any server of the store (G7). To ensure
// this, the store commits first. Each server then closes the wallet's connections, and only then is the reply sent.

/// The kind of command that revoked the wallets.
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
    /// Waits until none of the wallets' data is in flight at any server.
    ///
    /// Reports the wallets that were revoked at `now` to the log and the hooks.
    ///
    /// - Parameter now: The time of the revocation, or nil if it revoked no wallet because all of them had already been
    ///   revoked.
    /// - Returns: The servers that have acknowledged the revocation; nil for an embedded store.
    @discardableResult
    func settle(
        _ wallets: some Collection<WalletID>,
        endedAt now: Timestamp?,
        by cause: RevocationCause
    ) async throws(AdminFailure) -> Acknowledgements? {
        await self.server.closeConnections(of: wallets)
        if let now { await self.report(wallets, endedAt: now, by: cause) }
        return try await self.acknowledgements()
    }

    private func report(
        _ wallets: some Collection<WalletID>,
        endedAt now: Timestamp,
        by cause: RevocationCause
    ) async {
        for wallet in Set(wallets) {
            // If the store does not answer, it is better to report a wallet twice than not at all.
            if let report = try? await self.server.store.report(of: wallet), report.revokedAt != now { continue }
            self.server.log.notice(cause.line, metadata: ["wallet": "\(wallet)"])
            self.server.report(.revoked(wallet, cause.revocation))
        }
    }
}
