internal import AuditLog
internal import Logging
internal import Synchronization
internal import Vocabulary
internal import WalletStore

/// Records permanent blocks in the audit log.
///
///     commit that blocks ─▶ entry, durable ─▶ answer ─▶ noted in the store
///
/// A restore blocks these wallets again, so that a backup grants them no further attempts (G3). Unlike the end of a
/// wallet, a block may be committed before its entry is written, because PIN checks continue if the audit log rejects
/// entries. The store knows which blocks are not noted as recorded, and ``recordMissing(log:)`` records them, including
/// those from an earlier process.
final class PermanentBlocks: Sendable {
    private let store: any WalletStore
    private let audit: AuditLog
    private let state = Mutex(State())

    private struct State {
        /// The wallets whose entry is durable but not yet noted in the store.
        var recorded: [WalletID] = []
        /// Whether the store may contain blocks without an entry, which is possible at the start and after a rejected
        /// entry.
        var mustSearch = true
    }

    /// The number of attempt records that one step of a search reads.
    private static let searchedAtOnce = 500

    init(store: any WalletStore, audit: AuditLog) {
        self.store = store
        self.audit = audit
    }

    /// Records a committed block before the attempt is answered; if the entry is rejected, it is repeated later.
    func record(_ wallet: WalletID, log: Logger) async {
        if await self.enter([wallet], log: log) { self.state.withLock { $0.recorded.append(wallet) } }
    }

    /// Notes in the store which blocks are recorded, and records those that have no entry.
    func recordMissing(log: Logger) async {
        let (recorded, mustSearch) = self.state.withLock { state in
            defer { state = State(recorded: [], mustSearch: false) }
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
        var place: UInt64?
        repeat {
            let found = try await self.store.unrecordedBlocks(after: place, lookingAt: Self.searchedAtOnce)
            place = found.next
            guard !found.wallets.isEmpty else { continue }
            guard await self.enter(found.wallets, log: log) else { return }
            try await self.store.noteRecorded(blocksOf: found.wallets)
        } while place != nil
    }

    private func enter(_ wallets: [WalletID], log: Logger) async -> Bool {
        do throws(AuditLogError) {
            let subject = AuditSubject(wallets: wallets)
            let result = wallets.count == 1 ? "1 wallet" : "\(wallets.count) wallets"
            try await self.audit.append(.blockedPermanently, by: .server, on: subject, .done(of: nil, result: result))
            return true
        } catch {
            self.state.withLock { $0.mustSearch = true }
            log.error("a permanent block is not on record yet", metadata: ["reason": "\(error)"])
            return false
        }
    }
}
