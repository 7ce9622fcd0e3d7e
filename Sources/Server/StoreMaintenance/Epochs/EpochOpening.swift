package import AuditLog
internal import HostSystem
package import PINPolicy
package import PostgreSQLStore
internal import ServerSettings
package import Vault
package import Vocabulary
internal import WalletStore

/// The opening of an epoch in a database that may lack commits.
///
///     read all logs ─▶ no server judges ─▶ changes repeated ─▶ on record ─▶ epoch opened, with the logs it rests on
///
/// It may be killed at any moment and run again: until its last commit, no server judges anything, and repeating a
/// change twice has no further effect.
package struct EpochOpening {
    /// A server and what its commits in the database show.
    package struct Server {
        package let name: String
        package let log: String?
        package let problem: String?
        /// The number of its confirmed commits that the database lacks, or nil if unknown.
        package let lostCommits: UInt64?
        package let isLeftOut: Bool
    }

    /// The store, and the stopped server on whose machine the epoch is opened.
    package struct Parts: Sendable {
        package var store: PostgreSQLWalletStore
        /// The server's name.
        package var server: String
        /// Its audit log, which records the opening.
        package var auditLog: String
        package var vault: KeyFileVault
        package var clock: any WallClock
        package var actor: AuditActor
        /// Receives the newest entry of the log.
        package var onNewest: @Sendable (AuditMark) -> Void = { _ in }
        /// Receives each entry after it was written.
        package var onWritten: @Sendable (AuditEntry, [UInt8]) -> Void = { _, _ in }

        package init(
            store: PostgreSQLWalletStore,
            server: String,
            auditLog: String,
            vault: KeyFileVault,
            clock: any WallClock,
            actor: AuditActor
        ) {
            (self.store, self.server, self.auditLog) = (store, server, auditLog)
            (self.vault, self.clock, self.actor) = (vault, clock, actor)
        }
    }

    /// Allows opening a store that lacks commits, or has another policy or an earlier version.
    package static func prepare(_ parts: inout StoreParts) {
        (parts.acceptsLostCommits, parts.acceptsOtherPolicy, parts.acceptsEarlierVersion) = (true, true, true)
    }

    private let parts: Parts
    private var store: PostgreSQLWalletStore { self.parts.store }
    package let rule: EpochRule
    /// The servers whose logs are lost.
    private let without: Set<String>
    private let logs: ServerLogs
    package let servers: [Server]
    private let epochs: [StoredEpoch]
    private let losses: CommitLosses

    /// The number of the epoch to open, which is higher than any in the database, in a log or in a mark.
    package var number: Int {
        let ofMarks = self.accounted.map(\.epoch).max() ?? 1
        return max(self.epochs.count + 1, self.logs.epoch, Int(ofMarks)) + 1
    }

    /// Reads the database and all logs, without changing anything.
    package init(
        _ parts: Parts,
        rule: EpochRule,
        logs paths: [String],
        without: Set<String>
    ) async throws {
        (self.parts, self.rule, self.without) = (parts, rule, without)
        let store = parts.store
        self.epochs = try await store.epochs()
        let known = try await store.servers()
        let marks = known.map { ($0.name, $0.mark.map { AuditMark($0) }) }
        do {
            self.logs = try await ServerLogs(
                at: [parts.auditLog] + paths,
                known: Dictionary(uniqueKeysWithValues: marks),
                vault: parts.vault
            )
        } catch let error as FileError {
            throw StartFailure(.files, "an audit log cannot be read: \(error)")
        }
        let logs = self.logs
        let losses = CommitLosses(
            stored: Dictionary(uniqueKeysWithValues: known.map { ($0.name, $0.commits) }),
            epoch: Int64(self.epochs.count + 1),
            accounted: try await store.accountedCommits(),
            logs: logs.servers
        )
        self.losses = losses
        self.servers = logs.names.union(without).sorted().map { name in
            guard let found = logs.servers.first(where: { $0.name == name }) else {
                let isLeftOut = without.contains(name)
                return Server(
                    name: name,
                    log: nil,
                    problem: "its audit log is missing",
                    lostCommits: nil,
                    isLeftOut: isLeftOut
                )
            }
            return Server(
                name: name,
                log: found.path,
                problem: found.problem?.description ?? losses.staleness(of: found),  // rule: epoch-older-log
                // The epoch accounts for all commits of a server that is left out, so any number may be lost.
                // rule: epoch-left-out-server-trusted
                lostCommits: without.contains(name) ? nil : losses.number(of: found),
                isLeftOut: without.contains(name)
            )
        }
    }

    /// The commits that the epoch takes into account: those that the logs and marks show, and all commits of the
    /// servers whose logs are lost.
    private var accounted: [AccountedCommits] {
        let lost = self.without.flatMap { name in
            (1...self.losses.epoch).map { AccountedCommits(server: name, epoch: $0, total: .max) }
        }
        let whole = self.logs.servers.filter { $0.problem == nil }  // rule: epoch-knows-no-marks
        return lost + whole.flatMap { self.losses.shown(by: $0, countingStop: true) }
    }

    /// Rejects an opening that would lose a revocation or grant a guess without the operator's word.
    package func check() throws {
        if let path = self.logs.unknown.first {
            throw StartFailure(.data, "\(path) is the audit log of no server of this database; nothing was done")
        }
        let open = self.servers.filter { $0.problem != nil && !$0.isLeftOut }  // rule: epoch-without-a-log
        guard open.isEmpty else {
            let list = open.map { "server \($0.name): \($0.problem ?? "")" }.joined(separator: "\n")
            throw StartFailure(
                .notAllowed,
                """
                nothing was done: without the audit logs of all servers, wallets that they revoked work again.
                \(list)
                Name each log with --audit. If one is lost for good, name its server with --without.
                """
            )
        }
        if let intact = self.servers.first(where: { $0.isLeftOut && $0.problem == nil }) {
            throw StartFailure(.notAllowed, "the log of \(intact.name) is complete; leave --without \(intact.name) out")
        }
        guard self.rule != .strict else { return }
        // An attacker may have made any number of guesses in an unknown loss.
        guard let lost = self.lostCommits else {
            throw StartFailure(
                .notAllowed,
                "the number of lost commits is unknown, so \(self.rule.rawValue) may charge too little; use --epoch "
                    + "strict. Nothing was done"
            )
        }
        // Invariant (G3): a rule charges each wallet for at least as many guesses as may be lost. A commit counts at
        // most one attempt of a wallet, so several lost commits may contain several guesses at one wallet.
        // rule: epoch-charges-nothing
        guard lost <= (self.rule == .chargeOne ? 1 : 0) else {
            let (loss, others) =
                lost == 1 ? ("1 confirmed commit", "strict or charge-one") : ("\(lost) confirmed commits", "strict")
            throw StartFailure(
                .notAllowed,
                "the database lacks \(loss), and each lost one may have been a guess at the same wallet, so "
                    + "\(self.rule.rawValue) charges too little; use --epoch \(others). Nothing was done"
            )
        }
    }

    /// The number of confirmed commits that the database lacks, or nil if unknown.
    package var lostCommits: UInt64? {
        self.servers.reduce(.some(0)) { sum, server in
            sum.flatMap { sum in server.lostCommits.map { sum + $0 } }
        }
    }

    /// Rejects a database that servers are connected to.
    ///
    /// - Parameter consequence: A sentence that ends the error.
    package func requireNoServers(orElse consequence: String = "Nothing was done") async throws {
        let sessions = try await self.store.sessions(named: "remote-pin-server")
        guard !sessions.isEmpty else { return }  // rule: epoch-of-live-servers
        throw StartFailure(
            .unavailable,
            "servers are connected to the database, from \(Set(sessions).sorted().joined(separator: ", ")); stop all "
                + "servers. \(consequence)"
        )
    }

    /// Opens the epoch.
    package func run(onProgress: (Int, Int) throws -> Void) async throws -> ReplayReport {
        let audit = try await self.openAudit()
        return try await closing(await audit.close()) { try await self.run(in: audit, onProgress) }
    }

    private func run(in audit: AuditLog, _ onProgress: (Int, Int) throws -> Void) async throws -> ReplayReport {
        try await self.store.noteLostCommits()
        // No server judges from here on. One that has started since the first check would continue with the old epoch.
        try await self.requireNoServers(orElse: "Then run this command again: until it is done, no server starts")
        try await self.store.upgrade()
        let report = try await self.logs.repeatChanges(on: self.store, onProgress: onProgress)
        let vaultKey = try self.newestVaultKey()
        let records = EpochRecords.next(
            self.number,
            self.rule,
            at: self.parts.clock.now(),
            after: self.epochs,
            by: self.parts.vault
        )
        let lost = self.lostCommits.map { "\($0)" } ?? "an unknown number of"
        let left = self.without.isEmpty ? "" : ", without the logs of \(self.without.sorted().joined(separator: ", "))"
        let detail = "epoch \(self.number), \(self.rule.rawValue), \(lost) commits lost\(left)"
        let actor = self.parts.actor
        let begun = try await audit.append(.storeEpoch, by: actor, .begun, detail: detail)
        var marks: [String: StoredAuditMark] = [:]
        for server in self.logs.servers where server.problem == nil {
            marks[server.name] = server.newest.map { StoredAuditMark($0) }
        }
        marks[self.parts.server] = StoredAuditMark(begun)
        let lostLogs = self.without.filter { $0 != self.parts.server }
        do throws(StoreError) {
            try await self.store.open(
                records,
                with: marks,
                without: Array(lostLogs),
                accountingFor: self.accounted,
                vaultKey: vaultKey
            )
        } catch {
            let (of, reason) = (begun.number, "\(error)")
            let phase: AuditPhase =
                error == .outcomeUnknown ? .unclear(of: of, reason: reason) : .failed(of: of, reason: reason)
            await audit.tryAppend(.storeEpoch, by: actor, phase, detail: detail)
            throw error
        }
        let result =
            "\(Restoration.wallets(report.ended)) ended again, \(report.blocked) blocked again, "
            + "\(report.denied) codes denied again"
        await audit.tryAppend(.storeEpoch, by: actor, .done(of: begun.number, result: result), detail: detail)
        return report
    }

    /// Returns the newest version of the vault's keys that a server is known to have used, which the database may lack.
    ///
    /// Invariant: wallets have pinned its receipt key, so a server that starts first, with an older active version,
    /// must not announce and sign with that.
    private func newestVaultKey() throws -> StoredVaultVersion {
        let vault = self.parts.vault
        let ofLogs = self.logs.servers.compactMap { $0.newest.flatMap { VersionedMAC(text: $0.mac.utf8)?.key } }
        let version = max(vault.activeVersion, ofLogs.max() ?? 0)
        guard let check = vault.check(of: version) else {
            throw StartFailure(
                .configuration,
                "`vault.key-file` lacks version \(version), which an audit log names; install the newest copy of the "
                    + "key file and run this command again"
            )
        }
        let now = self.parts.clock.now()
        return StoredVaultVersion(version: version, activeSince: now, sealedAnewAt: nil, check: check)
    }

    /// Opens this server's log, which no other process has open.
    ///
    /// A damaged log is set aside.
    ///
    /// The store is not notified of any entry before the last commit, because it would consider the changes up to that
    /// entry its own.
    private func openAudit() async throws -> AuditLog {
        let path = self.parts.auditLog
        let own = self.logs.servers.first { $0.name == self.parts.server }
        var parts = AuditLog.Parts(
            path: path,
            vault: self.parts.vault,
            clock: self.parts.clock,
            epoch: self.number,
            onNewest: self.parts.onNewest
        )
        parts.onWritten = self.parts.onWritten
        (parts.server, parts.opensEpoch) = (self.parts.server, true)
        if own?.problem == nil {
            parts.last = own?.newest
        } else if AuditLog.exists(at: path) {
            let kept = RestoreLogs.place(of: path, beforeEpoch: self.number)
            try explaining(.files, "`audit.file`") { try DurableFile.place(path, at: kept) }
        }
        if !AuditLog.exists(at: path) { try await AuditLog.create(parts) }
        return try await AuditLog.open(parts)
    }
}

/// The confirmed commits that a database lacks, according to the servers' logs and the marks beside them.
struct CommitLosses {
    /// The commits in the database, by server.
    private let stored: [String: CommitMark]
    /// The database's epoch.
    let epoch: Int64
    /// The commits that earlier epochs took into account.
    private let accounted: [AccountedCommits]
    /// The marks beside the logs, by server.
    private let marks: [String: CommitMark]

    /// Reads the marks beside the logs of these servers.
    init(
        stored: [String: CommitMark],
        epoch: Int64,
        accounted: [AccountedCommits],
        logs: [ServerLogs.Server]
    ) {
        (self.stored, self.epoch, self.accounted) = (stored, epoch, accounted)
        let marks = logs.compactMap { server in
            server.path.flatMap { try? CommitMark.read(at: CommitMark.path(ofAuditLog: $0)) }
                .flatMap { $0.server == server.name ? (server.name, $0) : nil }
        }
        self.marks = Dictionary(uniqueKeysWithValues: marks)
    }

    /// Returns the reason why an intact log may be an older copy, or nil.
    ///
    /// Threat: a copy of a log that was made while the server was stopped looks complete. Revocations made after the
    /// copy would not be repeated, and guesses made after it would not be charged.
    func staleness(of server: ServerLogs.Server) -> String? {
        let ofLog = server.ofEpoch
        guard server.problem == nil, server.hasServed else { return nil }
        let path = CommitMark.path(ofAuditLog: server.path ?? "")
        guard let own = self.marks[server.name] else {
            return "\(Self.fault(of: path)), so the log may be an older copy"
        }
        // The commit after the entry of a stop stores that entry's number in the database.
        let last = (Int64(ofLog.epoch), ofLog.generation + 1)
        guard server.endsWithStop, ofLog.generation > 0, last < (own.epoch, own.total) else { return nil }
        return "\(path) has later commits than the log, which ends with a stop, so the log is an older copy"
    }

    /// Returns the reason why the file at this path is not the mark of a server.
    private static func fault(of path: String) -> String {
        guard DurableFile.isNamed(path) else { return "there is no \(path)" }
        do throws(FileError) {
            return try CommitMark.read(at: path).map { "\(path) is of the server \($0.server)" } ?? "\(path) is damaged"
        } catch {
            return "\(error)"
        }
    }

    /// Returns the number of a server's confirmed commits that the database lacks and no epoch took into account, or
    /// nil if the server's log does not show the number.
    func number(of server: ServerLogs.Server) -> UInt64? {
        guard server.problem == nil else { return nil }
        let own = self.marks[server.name]
        guard own != nil || !server.hasServed else { return nil }
        // If the mark is older than the log, as after a power failure, the last commits are unknown.
        let ofLog = (Int64(server.ofEpoch.epoch), server.ofEpoch.generation)
        if let own, (own.epoch, own.total) < ofLog { return nil }
        var number: UInt64 = 0
        // Excludes the commit after a stop, because its loss costs no guess.
        for shown in self.shown(by: server, countingStop: false) {
            let known: AccountedCommits
            if shown.epoch == self.epoch {
                let stored = self.stored[server.name] ?? CommitMark(server: server.name)
                known = AccountedCommits(server: server.name, epoch: self.epoch, numbers: stored.numbers, total: 0)
            } else if let earlier = self.accounted.first(where: { $0.server == server.name && $0.epoch == shown.epoch })
            {
                known = earlier
            } else {
                // The database is older than this epoch, or no later epoch took this server into account.
                return nil
            }
            number = max(number, shown.missing(in: known))
        }
        return number
    }

    /// Returns a server's commits according to its log and to the mark beside it, each in the epoch that it names.
    ///
    /// Before an unclean shutdown, the server may have made commits after the last entry. The mark has their number.
    ///
    /// - Parameter countingStop: Whether to include the commit after a clean stop's entry, which only stores the number
    ///   of that entry.
    func shown(by server: ServerLogs.Server, countingStop: Bool) -> [AccountedCommits] {
        let (mark, generation) = (self.marks[server.name], server.ofEpoch.generation)
        let ofLastEntry = (Int64(server.ofEpoch.epoch), generation)
        let hasFurther = mark.map { ($0.epoch, $0.total) > ofLastEntry } ?? true
        let hasStopMark = countingStop && server.endsWithStop && generation > 0 && hasFurther
        let ofLog = AccountedCommits(
            server: server.name,
            epoch: Int64(server.ofEpoch.epoch),
            total: hasStopMark ? generation + 1 : generation
        )
        return [ofLog, mark.map { AccountedCommits($0) }].compactMap(\.self).filter { $0.leastTotal > 0 }
    }
}
