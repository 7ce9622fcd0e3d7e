internal import AuditLog
internal import Logging
internal import Synchronization
internal import Vocabulary
internal import WalletStore

// Removes wallets some time after they ended.
//
// Until then, a phone that was switched off can still find out that its wallet was revoked, and why. Two things outlive
// the wallet: the digest of its deletion code with the time of its end, so that the code is still answered with "done",
// and the deny list, which does not belong to any wallet.
extension Maintenance {
    /// The number of wallets that are examined in one step, and recorded in one audit entry if they are due.
    private static let stepSize = 200
    private static let pause: Duration = .milliseconds(5)
    /// The interval between passes over all ended wallets, measured by the server's clock.
    private static let interval: Duration = .seconds(3600)

    /// Removes the wallets that are due, unless that was done within the last hour.
    package func runDuePurge() async {
        guard let after = self.parts.purgeAfter else { return }
        let now = self.parts.clock.now()
        let isDue = self.state.withLock { state in
            // If the clock was set back, the purge is also due.
            if let last = state.lastPurge, last <= now, now < last + Self.interval { return false }
            state.lastPurge = now
            return true
        }
        guard isDue else { return }
        do {
            let purged = try await self.purge(endedBefore: now + (.zero - after))
            if purged > 0 { self.parts.log.notice("wallets purged", metadata: ["count": "\(purged)"]) }
        } catch {
            self.parts.log.warning("the purge was not finished", metadata: ["reason": "\(error)"])
        }
    }

    private func purge(endedBefore limit: Timestamp) async throws -> Int {
        var purged = 0
        var after: UInt64?
        while true {
            let due = try await self.parts.store.purgeable(
                after: after,
                lookingAt: Self.stepSize,
                endedBefore: limit
            )
            if !due.wallets.isEmpty { purged += try await self.purge(due.wallets, endedBefore: limit) }
            guard let next = due.next else { return purged }
            after = next
            try await Task.sleep(for: Self.pause)
        }
    }

    /// Removes wallets after recording their ids.
    ///
    /// Every end of a wallet is recorded in this way.
    private func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws -> Int {
        let (audit, subject) = (self.parts.audit, AuditSubject(wallets: wallets))
        let begun = try await audit.append(.purge, by: .server, on: subject, .begun).number
        let purged: Int
        do {
            purged = try await self.parts.store.purge(wallets, endedBefore: limit)
        } catch {
            await audit.tryAppend(.purge, by: .server, on: subject, .unclear(of: begun, reason: "\(error)"))
            throw error
        }
        await audit.mustAppend(.purge, by: .server, on: subject, .done(of: begun, result: "\(purged) purged"))
        return purged
    }
}
