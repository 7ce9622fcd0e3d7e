internal import AuditLog
internal import Foundation
internal import PINPolicy
internal import PostgreSQLStore
internal import StoreMaintenance
@testable internal import Vault

/// The operator's work after a failover that lost confirmed commits.
extension Simulation {
    /// Stops all servers some time after one of them has found the loss, opens an epoch, and starts them again.
    func openEpochSoon() {
        guard let database = self.database, !self.isOpeningEpoch else { return }
        guard self.observer.isLossy else {
            return self.observer.report("a server finds a loss of confirmed commits, although none is lost")
        }
        self.observer.note("operator", "learns that the database lacks commits")
        self.openEpoch(in: database, stopping: self.sharedServers) { rule in
            self.restored(rule, from: database.endLoss())
        }
    }

    /// The servers with PostgreSQL.
    var sharedServers: [SharedServer] { self.servers.compactMap { $0 as? SharedServer } }

    /// Stops servers after a time, opens an epoch, and starts them again.
    ///
    /// - Parameters:
    ///   - copiedLogs: The paths of copies of other servers' logs.
    ///   - done: Called with the epoch's rule.
    func openEpoch(
        in database: SimulatedDatabase,
        stopping servers: [SharedServer],
        copiedLogs: [String] = [],
        _ done: @escaping (EpochRule) -> Void
    ) {
        self.isOpeningEpoch = true
        let reaction = Int64.random(in: 1_000_000...20_000_000, using: &self.operatorGenerator)
        self.scheduler.schedule(after: reaction, in: self.world) {
            for server in servers { server.kill(power: false, "by an operator, who opens an epoch") }
            // By then the sessions of the servers have ended, and the database is up.
            let wait = max(10_000_000, database.downUntil - self.scheduler.now)
            self.scheduler.schedule(after: wait, in: self.world) {
                self.tryToOpenEpoch(in: database, of: servers, copiedLogs: copiedLogs, done)
            }
        }
    }

    private func tryToOpenEpoch(
        in database: SimulatedDatabase,
        of servers: [SharedServer],
        copiedLogs: [String],
        _ done: @escaping (EpochRule) -> Void
    ) {
        guard database.serverSessions.isEmpty else {
            return self.scheduler.schedule(after: 1_000_000, in: self.world) {
                self.tryToOpenEpoch(in: database, of: servers, copiedLogs: copiedLogs, done)
            }
        }
        guard let own = servers.first else { return }
        database.settle()
        let (clock, opened) = (SimulatedClock(self.scheduler), Box(EpochRule.strict))
        let logs = servers.map { "\($0.folder)/audit.log" }.filter { AuditLog.exists(at: $0) } + copiedLogs
        let wish = EpochRule.allCases.randomElement(using: &self.operatorGenerator) ?? .strict
        let failure = self.scheduler.outside {
            let vault = try await own.openVault()
            var parts = try await own.storeParts(vault)
            parts.machine = .ofOperator(database)
            EpochOpening.prepare(&parts)
            parts.commitMark = nil
            let store = try await PostgreSQLWalletStore.open(parts)
            func opening(_ rule: EpochRule) async throws -> EpochOpening {
                let opening = try await EpochOpening(
                    EpochOpening.Parts(
                        store: store,
                        server: parts.server,
                        auditLog: "\(own.folder)/audit.log",
                        vault: vault,
                        clock: clock,
                        actor: AuditActor(rawValue: "operator")
                    ),
                    rule: rule,
                    logs: logs,
                    without: []
                )
                try opening.check()
                return opening
            }
            // A rule that may charge too little is rejected.
            let found = try? await opening(wish)
            let accepted = if let found { found } else { try await opening(.strict) }
            try await accepted.requireNoServers()
            _ = try await accepted.run { _, _ in }
            opened.value = accepted.rule
            await store.close()
        }
        self.isOpeningEpoch = false
        if let failure { return self.observer.report("the epoch is not opened: \(failure)", inLoss: true) }
        self.observer.note("operator", "opens an epoch with the rule \(opened.value)")
        done(opened.value)
    }
}
