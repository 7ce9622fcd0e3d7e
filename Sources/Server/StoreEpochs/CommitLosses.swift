internal import HostSystem
internal import PostgreSQLStore
internal import StoreMaintenance

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
