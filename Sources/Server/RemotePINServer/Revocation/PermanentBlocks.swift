internal import AuditLog
internal import Telemetry
internal import Logging
internal import Synchronization
internal import Vocabulary
internal import WalletStore

/// Records permanent blocks in the audit log.
///
///     commit that blocks ─▶ entry, durable ─▶ answer ─▶ noted in the store
///
/// Invariant (G3): no answer reports a permanent block that is not on record. A restore blocks these wallets again, so
/// that a backup grants them no further attempts. The attempt that caused a block may still be waiting for its own
/// answer, or a crash may have prevented that answer. Therefore, the block is recorded before any answer that reports
/// it.
///
/// Unlike the end of a wallet, a block may be committed before its entry is written, because PIN checks continue if the
/// audit log rejects entries. The store keeps track of which blocks are marked as recorded, and ``recordMissing(log:)``
/// records the others, including those from an earlier process.
final class PermanentBlocks: Sendable {
    private let store: any WalletStore
    private let audit: AuditLog
    private let state = Mutex(State())
    /// Limits the log lines about rejected entries, because the holder of a blocked wallet controls how often these
    /// occur.
    private let rejectionLog = LogRateLimiter(burst: 20, each: .seconds(10))

    private struct State {
        /// The wallets whose entry is durable but whose block is not yet marked as recorded in the store.
        var recorded: [WalletID] = []
        /// Wallets whose entry is known to be durable, so that further answers need no lookup.
        ///
        /// Emptied when it is full.
        var known: Set<WalletID> = []
        /// Whether the store may contain blocks without an entry.
        ///
        /// This is possible at start and after an entry was rejected.
        var mustSearch = true
    }

    /// The number of attempt records read by one step of a search.
    private static let searchedAtOnce = 500
    private static let mostKnown = 4096

    init(store: any WalletStore, audit: AuditLog) {
        self.store = store
        self.audit = audit
    }

    /// Records a committed block before an answer reports it.
    ///
    /// If the entry is rejected, it is retried later. Returns whether this server may not have known of the block
    /// before.
    func record(_ wallet: WalletID, log: Logger) async -> Bool {
        if self.state.withLock({ $0.known.contains(wallet) }) { return false }
        let isNoted = (try? await self.store.isRecorded(blockOf: wallet)) == true
        if !isNoted, await !self.enter([wallet], log: log) { return true }  // rule: block-not-on-record
        self.state.withLock { state in
            if !isNoted { state.recorded.append(wallet) }
            if state.known.count >= Self.mostKnown { state.known = [] }
            state.known.insert(wallet)
        }
        return true
    }

    /// Marks recorded blocks in the store, and records those that have no entry.
    func recordMissing(log: Logger) async {
        let (recorded, mustSearch) = self.state.withLock { state in
            defer { (state.recorded, state.mustSearch) = ([], false) }
            return (state.recorded, state.mustSearch)
        }
        do throws(StoreError) {
            if !recorded.isEmpty { try await self.store.noteRecorded(blocksOf: recorded) }
            if mustSearch { try await self.searchAll(log: log) }
        } catch {
            // A repeated entry does no harm, but a missing one would.
            self.state.withLock { $0.mustSearch = true }
            log.warning("permanent blocks were not noted as recorded", metadata: ["reason": "\(error)"])
        }
    }

    private func searchAll(log: Logger) async throws(StoreError) {
        var cursor: UInt64?
        repeat {
            let found = try await self.store.unrecordedBlocks(after: cursor, lookingAt: Self.searchedAtOnce)
            cursor = found.next
            guard !found.wallets.isEmpty else { continue }
            guard await self.enter(found.wallets, log: log) else { return }
            try await self.store.noteRecorded(blocksOf: found.wallets)
        } while cursor != nil
    }

    private func enter(_ wallets: [WalletID], log: Logger) async -> Bool {
        do throws(AuditLogError) {
            let subject = AuditSubject(wallets: wallets)
            let result = wallets.count == 1 ? "1 wallet" : "\(wallets.count) wallets"
            try await self.audit.append(.blockedPermanently, by: .server, on: subject, .done(of: nil, result: result))
            return true
        } catch {
            self.state.withLock { $0.mustSearch = true }
            if let metadata = self.rejectionLog.allow(["reason": "\(error)"]) {
                log.error("a permanent block is not on record yet", metadata: metadata)
            }
            return false
        }
    }
}
