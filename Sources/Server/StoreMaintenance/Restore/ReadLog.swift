internal import AuditLog
internal import Vault
internal import Vocabulary

/// An audit log, read for the changes since a backup of the store.
struct ReadLog {
    let path: String
    let verification: AuditVerification
    let replay: AuditReplay
    /// The reason why the log lacks the entry that was the newest at the time of the backup, or nil if it contains that
    /// entry.
    let isOther: AuditProblem?
    /// The epoch and the time of the log's first entry.
    let beginning: (epoch: Int, at: Timestamp)
    let facts: Facts

    /// The information about a server and its store in the entries of a log.
    struct Facts {
        /// The highest generation of the store.
        var generation: UInt64 = 0
        /// The newest epoch, and the highest generation in it.
        var ofEpoch: (epoch: Int, generation: UInt64) = (0, 0)
        /// The name of the server, if it shares the store with others.
        var server: String?
        /// The names of all servers of the store that the log mentions.
        var servers: Set<String> = []
        /// Whether the last start was followed by a clean stop, so that no commit followed.
        var endsWithStop = true
        /// Whether the server has used the shared store.
        var hasServed = false

        mutating func read(_ record: AuditRecord) {
            let generation = record.generation ?? 0
            self.generation = max(self.generation, generation)
            // An entry about the opening of an epoch is not from a server that has served in it.
            if record.epoch > self.ofEpoch.epoch, record.event != .storeEpoch { self.ofEpoch = (record.epoch, 0) }
            self.ofEpoch.generation = max(self.ofEpoch.generation, generation)
            // The entries up to here have the generations of the embedded store.
            if record.event == .storeCopied { (self.ofEpoch.generation, self.hasServed) = (0, false) }
            self.server = record.server ?? self.server
            self.servers.formUnion(record.servers ?? [])
            if record.event == .started { (self.endsWithStop, self.hasServed) = (false, true) }
            if record.event == .stopped { self.endsWithStop = true }
        }
    }

    /// The damage to the log.
    ///
    /// An entry left incomplete by a crash does not count, except for the first one, which is created as a whole.
    var damage: AuditProblem? {
        if case .tornTail? = self.verification.problem, self.isReadable { nil } else { self.verification.problem }
    }

    /// Whether the log has an intact first entry.
    var isReadable: Bool { self.verification.newest != nil }

    /// Reads a log.
    ///
    /// - Parameter mark: The newest entry at the time of the backup, or nil if the backup contains no change from the
    ///   log.
    init(at path: String, since mark: AuditMark?, vault: any Vault) async throws {
        var (first, replay, facts): (AuditRecord?, AuditReplay, Facts) = (nil, AuditReplay(after: mark), Facts())
        let reader = try AuditReader(setAside: path, vault: vault)
        var verification = try await reader.verify(last: mark) { entry in
            first = first ?? entry.record
            facts.read(entry.record)
            replay.read(entry)
        }
        var isOther: AuditProblem?
        if let mark, !verification.hasMark {
            isOther = .cut(newest: verification.newest?.number ?? 0, expected: mark.number)
            if case .replaced? = verification.problem { isOther = verification.problem }
            // Read again from the first entry to the last, because the first reading stops if another entry has the
            // mark's number.
            replay = AuditReplay(after: nil)
            verification = try await reader.verify { entry in
                facts.read(entry.record)
                replay.read(entry)
            }
        }
        self.path = path
        self.verification = verification
        self.replay = replay
        self.isOther = isOther
        self.beginning = (first?.epoch ?? 0, first?.at ?? Timestamp(milliseconds: 0))
        self.facts = facts
    }
}

extension [ReadLog] {
    /// The logs whose changes the store may lack, and whether one of them has the entry that the store names.
    ///
    /// The store includes the changes from all logs before the first one with that entry. The entry numbers in other
    /// logs are unrelated, so if no log has the entry, all are returned. Several logs have it if an older copy of a log
    /// replaced it: each of them may have changes that others lack. So may a log that cannot be read.
    ///
    /// - Precondition: the logs are sorted by their beginnings.
    var sinceNamedEntry: (logs: [ReadLog], hasEntry: Bool) {
        let first = self.firstIndex { $0.isOther == nil }
        return (self[..<(first ?? 0)].filter { !$0.isReadable } + self[(first ?? 0)...], first != nil)
    }
}
