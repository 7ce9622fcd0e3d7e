internal import AuditLog
internal import PINPolicy
internal import StoreMaintenance
internal import Synchronization
internal import HostSystem
internal import Vocabulary
internal import WalletStore
internal import Wire

// Commands about the server itself, and those that look at all wallets.
extension AdminCommands {
    /// Wallets that one step of the store looks at, so that PIN checks are not kept waiting.
    private static let lookedAtAtOnce = 500
    /// Wallets that one command looks at before it gives a page, whether it is full or not.
    private static let lookedAtForOnePage = 20_000

    func status() async throws(AdminFailure) -> StatusReport {
        let (services, operations) = (self.services, self.operations)
        let now = services.clock.now()
        var report = StatusReport()
        report.version = operations.version
        report.now = now
        report.uptime = .now - services.statistics.start
        report.startedAt = SystemClock().now() + (.zero - report.uptime)
        report.connections = services.statistics.openConnections.load(ordering: .relaxed)
        report.sessions = services.registry.sessions().count
        report.wallets = try await self.walletCounts(at: now)
        let pins = services.statistics.pinOutcomes.counts
        report.pins = StatusReport.PINCounts(
            valid: pins.valid,
            wrong: pins.wrong,
            blocked: pins.blocked + pins.permanentlyBlocked
        )
        let commits = services.store.commitLatency.summary()
        report.commits = StatusReport.LatencyReport(count: commits.count, median: commits.median, p99: commits.p99)
        (report.keyVersions, report.activeKeyVersion) = operations.keyVersions()
        report.certificateExpiresAt = operations.certificateExpiry()
        (report.statusListFetchedAt, report.isStatusListStale) = services.devices.attestations.age(at: now)
        (report.auditNumber, report.auditMAC) = (
            services.revocations.audit.newest.number, services.revocations.audit.newest.mac
        )
        report.isSolutionRevoked = try await administered { () throws(StoreError) in
            try await services.store.isSolutionRevoked()
        }
        if case .logLevel(let level, _) = operations.logLevel(nil) { report.logLevel = level }
        if let maintenance = operations.maintenance?.report() {
            let shown = UpkeepReport(maintenance)
            (report.epoch, report.reseal) = (shown.epoch, shown.reseal)
        }
        return report
    }

    private func walletCounts(at now: Timestamp) async throws(AdminFailure) -> StatusReport.WalletCounts {
        var counts = StatusReport.WalletCounts()
        var after: UInt64?
        while true {
            let listings = try await self.listing(after: after, limit: Self.lookedAtAtOnce)
            for listing in listings {
                counts[listing.condition(policy: self.services.terms.rules.attempts, now: now)] += 1
            }
            guard listings.count == Self.lookedAtAtOnce, let last = listings.last else { return counts }
            after = last.place
        }
    }

    func wallets(
        fitting filter: WalletFilter,
        after: UInt64?,
        limit: Int
    ) async throws(AdminFailure) -> WalletPage {
        let now = self.services.clock.now()
        var page = WalletPage(wallets: [], next: after)
        var lookedAt = 0
        while lookedAt < Self.lookedAtForOnePage {
            let listings = try await self.listing(after: page.next, limit: Self.lookedAtAtOnce)
            lookedAt += listings.count
            for listing in listings {
                page.next = listing.place
                let wallet = ListedWallet(
                    walletID: listing.walletID,
                    condition: listing.condition(policy: self.services.terms.rules.attempts, now: now),
                    platform: listing.platform,
                    registeredAt: listing.registeredAt,
                    lastSession: self.services.lastSessions.last(of: listing.walletID) ?? listing.lastSession,
                    failures: listing.attempts(under: self.services.terms.rules.attempts).failures
                )
                if filter.fits(wallet) { page.wallets.append(wallet) }
                // Whether others follow is found by the next page.
                if page.wallets.count == limit { return page }
            }
            if listings.count < Self.lookedAtAtOnce {
                page.next = nil
                return page
            }
        }
        return page
    }

    private func listing(after: UInt64?, limit: Int) async throws(AdminFailure) -> [StoredListing] {
        let store = self.services.store
        return try await administered { () throws(StoreError) in try await store.listing(after: after, limit: limit) }
    }

    func sessions(after: UInt64?, limit: Int) -> SessionPage {
        let sessions = self.services.registry.sessions()
        let connections = sessions.keys.filter { $0 > after ?? 0 }.sorted()
        let reports = connections.prefix(limit).compactMap { connection in
            sessions[connection].map { session in
                OpenSessionReport(
                    connection: connection,
                    walletID: session.walletID,
                    source: "\(session.source)",
                    since: session.since,
                    instructions: session.activity.instructions,
                    appVersion: session.app.version,
                    platform: session.app.platform
                )
            }
        }
        return SessionPage(sessions: reports, hasMore: connections.count > limit)
    }
}

extension StoredListing {
    fileprivate func condition(policy: AttemptPolicy, now: Timestamp) -> WalletCondition {
        WalletCondition(
            isRevoked: self.revocation != nil,
            sessionOpened: self.sessionOpened,
            pin: self.attempts(under: policy).state(policy: policy, now: now)
        )
    }
}

extension WalletFilter {
    fileprivate func fits(_ wallet: ListedWallet) -> Bool {
        if !self.conditions.isEmpty, !self.conditions.contains(wallet.condition) { return false }
        if let platform, platform != wallet.platform { return false }
        if let from = self.registeredFrom, wallet.registeredAt < from { return false }
        if let before = self.registeredBefore, wallet.registeredAt >= before { return false }
        return true
    }
}
