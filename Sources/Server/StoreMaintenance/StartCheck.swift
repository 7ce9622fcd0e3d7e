package import AuditLog
package import Vault
package import Vocabulary
package import WalletStore

/// Checks at start that the store contains everything recorded in its audit log.
///
/// Invariant (G7): after any start, every recorded revocation is in effect:
/// - If one recorded as done after the store's mark is missing, the store is an older copy and is not served.
/// - One recorded as done up to the mark was in the store. If it is missing, the database was changed by another
///   program, and the revocation is repeated.
/// - A revocation that was begun but not completed is carried out.
package struct StartCheck {
    private let mark: UInt64
    private var replay: AuditReplay
    private var recorded = RecordedChanges()
    /// The highest store generation on record.
    private var generation: UInt64 = 0
    /// The epoch of the newest entry, and the highest generation on record in it.
    private var ofEpoch: (epoch: Int, generation: UInt64) = (0, 0)
    private var hasStart = false

    /// - Parameter mark: The store's mark. The store contains every change completed before that entry.
    package init(after mark: AuditMark?) {
        self.mark = mark?.number ?? 0
        self.replay = AuditReplay(after: mark)
    }

    /// Processes the next log entry.
    package mutating func read(_ entry: AuditEntry) {
        self.replay.read(entry)
        self.recorded.read(entry, isInStore: entry.number <= self.mark)
        let generation = entry.record.generation ?? 0
        self.generation = max(self.generation, generation)
        if entry.record.epoch > self.ofEpoch.epoch { self.ofEpoch = (entry.record.epoch, 0) }
        self.ofEpoch.generation = max(self.ofEpoch.generation, generation)
        // The entries up to here have the generations of the embedded store.
        if entry.record.event == .storeCopied { self.ofEpoch.generation = 0 }
        if entry.record.event == .started { self.hasStart = true }
    }

    /// Reads the logs next to this one that were set aside.
    ///
    /// Must be called before the first entry of this log is read. The restore or the epoch that followed repeated the
    /// changes in their intact parts, so the store had them.
    ///
    /// Threat (G7): a restore sets a damaged log aside, and another program puts back the row of a wallet whose end
    /// only that log records.
    package mutating func readSetAside(besideAuditLog path: String, vault: any Vault) async throws {
        var logs: [ReadLog] = []
        for aside in try RestoreLogs.setAside(path) {
            logs.append(try await ReadLog(at: aside, since: nil, vault: vault))
        }
        var recorded = self.recorded
        for log in logs.sorted(by: { $0.beginning < $1.beginning }) {
            let reader = try AuditReader(setAside: log.path, vault: vault)
            _ = try await reader.verify { recorded.read($0, isInStore: true) }
            recorded.endLog()
        }
        self.recorded = recorded
    }

    /// Throws if the store holds wallets but the log read so far, which may be missing, is not the one it had.
    ///
    /// Threat (G7): an attacker removes the log together with the mark. A server enters its start, and the store names
    /// that entry before the first wallet registers.
    package func requireLog(of store: any ServedStore) async throws {
        // The other servers of a shared store have logs of their own.
        guard self.mark == 0, !self.hasStart, !store.isShared, try await store.walletCount() > 0 else { return }
        throw OlderStore.withoutLog
    }

    /// Compares an embedded store's generation with the copy of its mark beside the audit log.
    ///
    /// Threat (G4): the data folder is an older copy, and the log has no entry since. A server creates the copy before
    /// its first start is on record, so a missing one is no sign of a new server.
    package func checkMark(of store: any ServedStore, besideAuditLog path: String) throws {
        guard let store = store as? SQLiteWalletStore else { return }
        guard let marked = try MarkCopy.generation(besideAuditLog: path) else {
            guard self.hasStart else { return }
            throw OlderStore.markMissing(MarkCopy.path(besideAuditLog: path))
        }
        if store.generation < marked { throw OlderStore.mark(store: store.generation, mark: marked) }
    }

    /// Compares the store with the changes recorded as done.
    ///
    /// Changes that can be reversed are compared only if no other server changes the store, because a reversal may be
    /// in another server's log.
    package func check(_ store: any ServedStore) async throws {
        try await self.checkGeneration(of: store)
        var (ended, blocked): (Set<WalletID>, Set<WalletID>) = ([], [])
        var denied: [RecoveryCodeMAC: Bool] = [:]
        var isSolutionRevoked: Bool?
        for step in self.replay.doneSteps() {
            switch step {
            case .end(let wallets, _, _): ended.formUnion(wallets)
            case .deny(let mac, let linked, _):
                ended.formUnion(linked)
                denied[mac] = true
            case .allow(let mac): denied[mac] = false
            case .setSolutionRevoked(let isRevoked): isSolutionRevoked = isRevoked
            case .block(let wallets): blocked.formUnion(wallets)
            }
        }
        if let wallet = try await store.inUse(Array(ended)).first { throw OlderStore.revocation(wallet) }
        if let wallet = try await store.unblocked(Array(blocked)).first { throw OlderStore.block(wallet) }
        guard !store.isShared else { return }
        for (mac, isDenied) in denied {
            guard try await (store.denied(mac) != nil) == isDenied else { throw OlderStore.denial(mac) }
        }
        if let isSolutionRevoked, try await store.isSolutionRevoked() != isSolutionRevoked {
            throw OlderStore.solution
        }
    }

    /// Repeats the changes on record that the store had and has lost, with an entry in the log for each.
    ///
    /// Returns these changes.
    ///
    /// - Precondition: ``check(_:)`` and ``AuditLog/endUnended(_:)`` have succeeded.
    package func repeatLost(in store: any ServedStore, _ audit: AuditLog) async throws -> [LostChange] {
        let lost = try await self.recorded.lost(from: store)
        for change in lost { try await change.repeat(in: store, audit) }
        return lost
    }

    /// Compares the store's generation with the highest one on record.
    ///
    /// The generations of a shared store begin again with each epoch. An epoch charges every wallet for the lost
    /// commits that it took into account, but not for commits that a server continued to make in another database.
    private func checkGeneration(of store: any ServedStore) async throws {
        var (found, recorded) = (store.generation, self.generation)  // rule: start-generation-not-compared
        if store.isShared {
            recorded = self.ofEpoch.generation
            if try await store.epochs().count + 1 > self.ofEpoch.epoch {
                found = try await store.accountedGeneration(in: self.ofEpoch.epoch)
            }
        }
        if found < recorded { throw OlderStore.generation(store: found, log: recorded) }
    }

    /// Completes a revocation that an earlier process left unfinished.
    ///
    /// Returns false for any other command, and for a change of a shared store that another server may have done and
    /// reversed since.
    package static func carryOut(_ record: AuditRecord, on store: any ServedStore) async throws -> Bool {
        guard let step = AuditReplay.ending(record) else { return false }
        if store.isShared {
            guard case .end = step else { return false }
        }
        var report = ReplayReport()
        do {
            try await step.carryOut(on: store, &report)
            return true
        } catch StoreError.corrupt {
            // All others have ended. A wallet without an id is not judged, and the check of records reports it.
            return false
        }
    }
}

/// A recorded change is missing from the store, which is therefore an older copy.
///
/// An operator must restore a backup.
package enum OlderStore: Error, Hashable, Sendable, CustomStringConvertible {
    /// The store's generation is lower than that of a log entry.
    case generation(store: UInt64, log: UInt64)
    /// The store's generation is lower than that of the copy of its mark beside the audit log.
    case mark(store: UInt64, mark: UInt64)
    /// The copy of the mark at this path is missing or damaged.
    case markMissing(String)
    case revocation(WalletID)
    case block(WalletID)
    /// A recovery code's denial is missing, or the removal of a denial.
    case denial(RecoveryCodeMAC)
    /// The revocation of the solution is missing, or its reversal.
    case solution
    /// The store holds wallets, but it names no entry of an audit log, and no log records that a server served it.
    case withoutLog

    package var description: String {
        let older = "the store is an older copy: the audit log records"
        return switch self {
        case .generation(let store, let log):
            "\(older) generation \(log) of the store, which has generation \(store)"
        case .mark(let store, let mark):
            "the store is an older copy: its last commit is number \(store), but commit \(mark) was synced, according "
                + "to the mark beside the audit log"
        case .markMissing(let path):
            "\(path), which names the store's last commit, is missing or damaged, so an older copy of the store could "
                + "not be told from the newest one"
        case .revocation(let wallet): "\(older) the revocation of wallet \(wallet), which the store lacks"
        case .block(let wallet): "\(older) the permanent block of wallet \(wallet), which the store lacks"
        case .denial(let mac): "\(older) a change of recovery code \(mac) on the deny list, which the store lacks"
        case .solution: "\(older) a change of the solution's revocation, which the store lacks"
        case .withoutLog:
            "the store holds wallets, but no start of a server is in its audit log, and the store names no entry: both "
                + "were removed"
        }
    }

    /// The operator's next step with an embedded store.
    package var wayOut: String {
        switch self {
        case .withoutLog: "Put the log back. \(AuditLogError.withoutTheLog)"
        case .markMissing: "Put the file back. If it is lost: \(Self.wayOut)"
        default: Self.wayOut
        }
    }

    /// The operator's next step with an older embedded store.
    package static let wayOut =
        "Move the data folder away and restore a backup with `remote-pin-server restore`. To keep this store, first "
        + "copy it with `remote-pin-server backup FILE`, and restore FILE: the restore opens an epoch and repeats the "
        + "revocations since"
}
