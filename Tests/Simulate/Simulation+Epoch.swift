internal import AuditLog
internal import Foundation
internal import PINPolicy
internal import PostgreSQLStore
internal import StoreEpochs
@testable internal import Vault

/// The operator's work after a failover that lost confirmed commits.
extension Simulation {
    /// Stops all servers some time after one of them has found the loss, opens an epoch, and starts them again.
    func openEpochSoon() {
        guard let database = self.database, !self.isOpeningEpoch else { return }
        self.isOpeningEpoch = true
        self.observer.note("operator", "learns that the database lacks commits")
        let reaction = Int64.random(in: 1_000_000...20_000_000, using: &self.operatorGenerator)
        self.scheduler.schedule(after: reaction, in: self.world) {
            for server in self.servers { server.kill(power: false, "by an operator, who opens an epoch") }
            // By then the sessions of the servers have ended, and the database is up.
            let wait = max(10_000_000, database.downUntil - self.scheduler.now)
            self.scheduler.schedule(after: wait, in: self.world) { self.openEpoch(in: database) }
        }
    }

    private func openEpoch(in database: SimulatedDatabase) {
        guard database.serverSessions.isEmpty else {
            return self.scheduler.schedule(after: 1_000_000, in: self.world) { self.openEpoch(in: database) }
        }
        let servers = self.servers.compactMap { $0 as? SharedServer }
        guard let own = servers.first else { return }
        let time = database.settle()
        let (clock, rule) = (SimulatedClock(self.scheduler), EpochRule.strict)
        let logs = servers.map { "\($0.folder)/audit.log" }.filter { AuditLog.exists(at: $0) }
        let failure = self.scheduler.outside {
            let vault = try own.openVault { $0() }
            var parts = try await own.storeParts(vault)
            parts.machine = .ofOperator(database)
            EpochOpening.prepare(&parts)
            parts.commitMark = nil
            let store = try await PostgreSQLWalletStore.open(parts)
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
                origin: .recorded,
                logs: logs,
                without: []
            )
            try opening.check()
            try await opening.requireNoServers()
            _ = try await opening.run { _, _ in }
            await store.close()
        }
        self.isOpeningEpoch = false
        if let failure { return self.observer.report("the epoch is not opened: \(failure)", inLoss: true) }
        self.observer.note("operator", "opens an epoch with the rule \(rule)")
        self.restored(rule, from: time)
    }
}
