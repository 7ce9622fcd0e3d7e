package import AuditLog
internal import HostSystem
package import Vault
internal import Vocabulary
package import WalletStore

/// The audit logs of all servers of a shared store, whose revocations and permanent blocks are repeated by an epoch.
///
/// Invariant (G7): every change on record since the store's state is repeated, whichever server made it. Each server
/// has a separate log, so an epoch needs all of them.
package struct ServerLogs {
    /// The logs of one server.
    package struct Server {
        package let name: String
        /// The logs that have changes since the store's state, in order; the server continues the last one.
        let logs: [ReadLog]
        /// The reason why they do not cover all changes, or nil if they do.
        package let problem: LogProblem?

        package var newest: AuditMark? { self.logs.last?.verification.newest }
        package var path: String? { self.logs.last?.path }
        /// The newest epoch in the logs, and the highest generation of the store in it.
        package var ofEpoch: (epoch: Int, generation: UInt64) {
            self.logs.map(\.facts.ofEpoch).max { $0 < $1 } ?? (0, 0)
        }
        /// Whether the server shut down cleanly, so that no commit followed the last entry.
        package var endsWithStop: Bool { self.logs.last?.facts.endsWithStop ?? false }
        /// Whether the server has used the store.
        package var hasServed: Bool { self.logs.contains(where: \.facts.hasServed) }
        fileprivate var steps: [(step: AuditReplay.Step, at: Timestamp)] {
            self.logs.flatMap { $0.replay.timedSteps() }
        }
    }

    /// The servers that have a log, sorted by name.
    package let servers: [Server]
    /// The files whose server is unknown, because neither an entry names it nor the store one of their entries.
    package let unknown: [String]
    /// The names of all servers that the store or a log mentions.
    package let names: Set<String>
    /// The latest epoch in any of the logs, or 0 if there is none.
    package let epoch: Int

    /// The largest difference between the clocks of two servers: each differs from the database's by a second at most.
    private static let clockTolerance: Duration = .seconds(2)

    /// Reads the logs and any older logs set aside next to them, without changing anything.
    ///
    /// - Parameters:
    ///   - paths: The files, in any order. Missing ones are left out.
    ///   - known: The servers that the store knows, each with the newest entry that the store names.
    package init(at paths: [String], known: [String: AuditMark?], vault: any Vault) async throws {
        var (found, unknown): ([String: [ReadLog]], [String]) = ([:], [])
        var (names, epoch) = (Set(known.keys), 0)
        let existing = Set(paths).filter { AuditLog.exists(at: $0) }
        for path in try existing.union(paths.flatMap { try RestoreLogs.setAside($0) }).sorted() {
            let log = try await ReadLog(at: path, since: nil, vault: vault)
            names.formUnion(log.facts.servers)
            epoch = max(epoch, log.verification.newestEpoch ?? 0)
            guard let name = try await Self.server(of: log, known, vault) else {
                unknown.append(path)
                continue
            }
            names.insert(name)
            let mark = known[name] ?? nil
            found[name, default: []].append(
                mark == nil ? log : try await ReadLog(at: path, since: mark, vault: vault)
            )
        }
        self.servers = found.sorted { $0.key < $1.key }.map { name, logs in
            Server(name, logs, isNamed: (known[name] ?? nil) != nil)
        }
        (self.unknown, self.names, self.epoch) = (unknown, names, epoch)
    }

    /// The server that wrote a log, according to its entries or, failing that, to the store, which names an entry in
    /// the log.
    private static func server(
        of log: ReadLog,
        _ known: [String: AuditMark?],
        _ vault: any Vault
    ) async throws -> String? {
        if let name = log.facts.server { return name }
        for (name, mark) in known {
            guard let mark else { continue }
            if try await AuditReader(setAside: log.path, vault: vault).verify(last: mark).hasMark { return name }
        }
        return nil
    }
}

extension ServerLogs.Server {
    /// - Parameter isNamed: Whether the store names an entry of one of the logs.
    fileprivate init(_ name: String, _ found: [ReadLog], isNamed: Bool) {
        let logs = found.sorted { $0.beginning < $1.beginning }
        // A store that names no entry may be older than all logs.
        // rule: epoch-changes-skipped
        let (relevant, hasEntry) = isNamed ? logs.sinceNamedEntry : (logs, true)  // rule: epoch-last-log-only
        var problem: LogProblem?
        if let damaged = relevant.first(where: { $0.damage != nil }), let damage = damaged.damage {
            problem = .damaged(damaged.path, damage)
        } else if !hasEntry, let last = logs.last, let other = last.isOther {
            problem = .otherLog(last.path, other)
        }
        (self.name, self.logs, self.problem) = (name, relevant, problem)
    }
}

extension ServerLogs {
    /// The changes to repeat, in the order of their times.
    ///
    /// Those of one server stay in the order of its log. Clocks of two servers may differ a little: a change that gives
    /// back (the removal of a denial, the restoration of the solution) then counts as the earlier one. If in doubt, a
    /// code stays denied and the solution revoked.
    var steps: [AuditReplay.Step] {
        var waiting = self.servers.map { $0.steps[...] }.filter { !$0.isEmpty }
        var merged: [AuditReplay.Step] = []
        func due(_ first: (step: AuditReplay.Step, at: Timestamp)) -> Timestamp {
            switch first.step {
            case .allow, .setSolutionRevoked(false): first.at + (.zero - Self.clockTolerance)
            default: first.at
            }
        }
        while let place = waiting.indices.min(by: { left, right in
            guard let one = waiting[left].first, let other = waiting[right].first else { return false }
            return due(one) < due(other)
        }) {
            merged.append(waiting[place].removeFirst().step)
            if waiting[place].isEmpty { waiting.remove(at: place) }
        }
        return merged
    }

    /// Repeats all changes on a store that judges nothing.
    ///
    /// Has no effect on a store that already contains them.
    package func repeatChanges(
        on store: any ServedStore,
        onProgress: (_ done: Int, _ all: Int) throws -> Void
    ) async throws -> ReplayReport {
        var report = ReplayReport()
        let steps = self.steps
        for (place, step) in steps.enumerated() {
            try onProgress(place, steps.count)
            try await step.carryOut(on: store, &report)
        }
        try onProgress(steps.count, steps.count)
        report.isSolutionRevoked = try await store.isSolutionRevoked()
        return report
    }
}
