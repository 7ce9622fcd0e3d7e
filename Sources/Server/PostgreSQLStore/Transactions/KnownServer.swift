internal import PostgreSQLClient
internal import Vocabulary
package import WalletStore

/// A server that the store knows, by its commits or by its audit log.
package struct KnownServer: Hashable, Sendable {
    package let name: String
    /// The newest entry in its audit log at its last recorded change, or nil before the first one.
    package let mark: StoredAuditMark?
    /// The numbers of its commits in the store.
    package let commits: CommitMark
}

/// The loss of commits, and the epoch that ends it.
extension StoreTransaction {
    /// Returns every server that the store knows, sorted by name.
    func servers() throws -> [KnownServer] {
        let rows = try self.run(.server(.all))
        return try (0..<rows.count).map { row in
            guard let name = rows.text(row, 0) else { throw StoreError.corrupt }
            var commits = CommitMark(server: name)
            commits.epoch = self.session.epoch
            commits.numbers = [.judging: rows.number(row, 3) ?? 0, .transactions: rows.number(row, 4) ?? 0]
            var mark: StoredAuditMark?
            if let number = rows.number(row, 1), let mac = rows.text(row, 2) {
                mark = StoredAuditMark(number: UInt64(bitPattern: number), mac: mac)
            }
            return KnownServer(name: name, mark: mark, commits: commits)
        }
    }

    /// Marks the store as one that lacks commits: from its commit on, no server judges anything.
    func noteLostCommits() throws {
        self.isUncounted = true
        try self.run(.facts(.noteLostCommits))
    }

    /// Opens epochs, after which servers judge again, with the audit logs that were read for them.
    ///
    /// Invariant (G7): a server continues only the log whose entries were repeated, or one that continues it. An older
    /// copy of it would hide revocations from the next epoch.
    ///
    /// - Parameters:
    ///   - marks: The newest entry of each log, by the server's name.
    ///   - lost: The servers whose logs are lost; each of them begins a new log.
    ///   - accounted: The commits that the logs and the marks beside them show.
    ///   - vaultKey: The newest version of the vault's keys that a server has used, with its check value.
    func open(
        _ epochs: [StoredEpoch],
        with marks: [String: StoredAuditMark],
        without lost: [String],
        accountingFor accounted: [AccountedCommits],
        vaultKey: StoredVaultVersion? = nil
    ) throws {
        try OpenEpochs(epochs).run(in: self)
        try self.account(for: accounted)
        for (server, mark) in marks { try self.keep(mark, of: server) }  // rule: epoch-log-not-named
        for server in lost { try self.run(.server(.removeAuditMark(of: server))) }
        try self.run(.facts(.notePlace))
        // A restored database contains leases of the past. A server that still runs takes a new one, and settles all.
        try self.run(.server(.endLeases))  // rule: epoch-leases-of-the-past
        if let vaultKey {
            let note = NoteVaultVersion(version: vaultKey.version, check: vaultKey.check, now: vaultKey.activeSince)
            _ = try note.run(in: self)
        }
    }

    /// Records that the next epoch takes the commits in the store into account.
    func account() throws {
        self.isUncounted = true
        try self.account(
            for: try self.servers().map {
                AccountedCommits(server: $0.name, epoch: self.session.epoch, numbers: $0.commits.numbers, total: 0)
            }
        )
    }

    /// Records commits that the next epoch takes into account, in addition to those recorded before.
    private func account(for accounted: [AccountedCommits]) throws {
        for commits in accounted { try self.run(.server(.account(commits))) }
    }

    /// Returns the addresses of other sessions opened by servers, except those of roles that this role is not allowed
    /// to see.
    func sessions(named application: String) throws -> [String] {
        let rows = try self.run(.server(.sessions(application: application)))
        return (0..<rows.count).compactMap { rows.text($0, 0) }
    }
}

extension PostgreSQLWalletStore {
    package func servers() async throws(StoreError) -> [KnownServer] {
        try await self.perform(.reading) { try $0.servers() }
    }

    package func noteLostCommits() async throws(StoreError) {
        try await self.perform(.changingFacts) { try $0.noteLostCommits() }
    }

    package func open(
        _ epochs: [StoredEpoch],
        with marks: [String: StoredAuditMark],
        without lost: [String],
        accountingFor accounted: [AccountedCommits],
        vaultKey: StoredVaultVersion? = nil
    ) async throws(StoreError) {
        try await self.perform(.changingFacts) {
            try $0.open(epochs, with: marks, without: lost, accountingFor: accounted, vaultKey: vaultKey)
        }
    }

    /// Returns the commits that epochs took into account.
    package func accountedCommits() async throws(StoreError) -> [AccountedCommits] {
        try await self.perform(.reading) { try $0.session.accountedCommits() }
    }

    /// Returns the addresses of the sessions of running servers.
    package func sessions(named application: String) async throws(StoreError) -> [String] {
        try await self.perform(.reading) { try $0.sessions(named: application) }
    }
}
