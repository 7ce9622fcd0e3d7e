internal import AuditLog
internal import Foundation
internal import PINPolicy
internal import PostgreSQLStore

/// A split brain: two servers use two copies of the database.
///
/// A copy of the database takes its place, and the operator opens an epoch there, while a server that cannot be reached
/// continues with the original. Until it connects to the copy, both databases judge PINs, and nothing can prevent that.
/// Then it must notice that the copy lacks its commits.
extension Simulation {
    func divide(cutOff number: Int, seconds: Int) {
        guard let original = self.database, !original.isEmpty, !self.isOpeningEpoch, !self.observer.isLossy,
            self.servers[number].running != nil
        else { return }
        let server = self.sharedServers[number]
        let others = self.sharedServers.filter { $0 !== server }
        let copied = "\(self.folder)/copied"
        try? FileManager.default.createDirectory(atPath: copied, withIntermediateDirectories: true)
        let log = "\(copied)/audit.log"
        for path in [log, CommitMark.path(ofAuditLog: log)] {
            let name = path.dropFirst(copied.count)
            try? FileManager.default.copyItem(atPath: server.folder + name, toPath: path)
        }
        let copy = SimulatedDatabase(copying: original)
        self.observer.note("operator", "replaces the database by a copy, which \(server.name) does not reach")
        self.observer.isLossy = true
        self.database = copy
        let time = self.scheduler.now
        // The others' sessions end at once. They get no new ones before the epoch is open.
        for other in others {
            other.kill(power: false, "by an operator, who replaces the database")
            other.database = copy
        }
        self.openEpoch(in: copy, stopping: others, copiedLogs: [log]) { rule in
            // Its next process records its start, and the number of its commits with it.
            if self.powerFailsAfterDivision { server.kill(power: false, "by plan") }
            self.scheduler.schedule(after: Int64(seconds) * 1_000_000, in: self.world) {
                self.endDivision(of: server, from: original, to: copy, rule, since: time, copiedLog: log)
            }
        }
    }

    /// The original is shut down, and its server reaches the copy.
    private func endDivision(
        of server: SharedServer,
        from original: SimulatedDatabase,
        to copy: SimulatedDatabase,
        _ rule: EpochRule,
        since time: Int64,
        copiedLog: String
    ) {
        self.observer.note("operator", "shuts the original database down; \(server.name) reaches the copy")
        server.database = copy
        original.endSessions(downFor: .max / 2)
        let isLoss: Bool
        if self.powerFailsAfterDivision {
            server.losePower(markOf: copiedLog)
            // The commits after the last entry of its log are lost without a trace.
            let recorded = server.recorded
            isLoss = recorded.commits > copy.accountedCommits(of: server.nameInStore, in: recorded.epoch)
        } else {
            func mark(besides log: String) -> CommitMark? { try? CommitMark.read(at: CommitMark.path(ofAuditLog: log)) }
            isLoss = mark(besides: "\(server.folder)/audit.log") != mark(besides: copiedLog)
        }
        copy.loseCommits(since: time) {
            // If nothing was lost, the epoch is in force for both servers.
            if isLoss { return "\(server.name) has not noticed that the copy of the database lacks its commits" }
            self.restored(rule, from: time)
            return nil
        }
    }
}
