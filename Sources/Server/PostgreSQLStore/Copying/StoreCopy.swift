package import Vocabulary
package import WalletStore

/// Copies an embedded store into an empty database shared by several servers.
///
///     read the source ─▶ mark the target ─▶ copy pages ─▶ read the target ─▶ move the source ─▶ finish the target
///
/// It may be killed at any moment and run again: each page is one transaction, and the next page begins after the last
/// wallet in the target.
///
/// Invariant (G3, G7): at most one of the two stores can be served. The target is marked as unfinished from its first
/// wallet on, and the source is marked as moved to this very copy before the target is finished. The caller holds a
/// lock on the source, so the source does not change. If the source has changed since the copy began, its digest
/// differs, and the copy is started over instead of continued. The target therefore never contains a count, a PIN or a
/// wallet from before the change, and no epoch is needed.
package struct StoreCopy: Sendable {
    package enum Stage: String, Sendable {
        case checking, copying, verifying, finishing
    }

    package struct Report: Hashable, Sendable {
        package let wallets: Int
        /// The digest of all contents, computed separately from each store.
        package let digest: String
        /// The number of wallets that an earlier run had copied.
        package let copiedBefore: Int
        /// Whether an earlier run had finished the copy.
        package let wasFinished: Bool
    }

    private let source: SQLiteWalletStore
    private let target: PostgreSQLWalletStore
    private let pageSize: Int
    /// Called after each step, with the number of copied wallets and the total number.
    private let onProgress: @Sendable (Stage, Int, Int) throws -> Void
    /// Records the verified copy in the audit log, and returns the log's newest entry.
    private let record: @Sendable (Report) async throws -> StoredAuditMark

    /// - Parameters:
    ///   - source: The embedded store, which must not have been opened for serving.
    ///   - target: Opened to accept an unfinished copy.
    package init(
        of source: SQLiteWalletStore,
        into target: PostgreSQLWalletStore,
        pageSize: Int = 256,
        onProgress: @escaping @Sendable (Stage, Int, Int) throws -> Void = { _, _, _ in },
        record: @escaping @Sendable (Report) async throws -> StoredAuditMark
    ) {
        self.source = source
        self.target = target
        self.pageSize = pageSize
        self.onProgress = onProgress
        self.record = record
    }

    /// Copies the store, or continues an interrupted copy.
    ///
    /// - Parameter anew: Whether to remove an unfinished copy of another state of the source and start over.
    /// - Throws: A ``StoreCopyFailure``, a `StoreError`, or an error thrown by the given functions.
    package func run(anew: Bool = false) async throws -> Report {
        let total = try await self.source.walletCount()
        guard try await self.source.recordKeyFits() else { throw StoreCopyFailure.records }
        let own = try await self.digest(of: self.source, .checking, total)
        let movedTo = try await self.source.movedTo()
        let found = try await self.target.perform(.reading) { try $0.copyMark() }
        if let found, found.isFinished, found.name == movedTo {
            return Report(wallets: own.wallets, digest: own.hex, copiedBefore: own.wallets, wasFinished: true)
        }
        let copy = try await self.begin(own, found, movedTo: movedTo, anew: anew)
        let before = try await self.copy(copy, total)

        let copied = try await self.digest(of: self.target, .verifying, total)
        guard copied == own, try await self.target.walletCount() == own.wallets else { throw StoreCopyFailure.differs }
        let report = Report(wallets: own.wallets, digest: own.hex, copiedBefore: before, wasFinished: false)
        let newest = try await self.record(report)
        try self.onProgress(.finishing, total, total)
        if movedTo == nil { try await self.source.noteMoved(to: copy.name) }
        try self.onProgress(.finishing, total, total)
        try await self.target.perform(.changingFacts) { try $0.finish(copy, newest) }
        return report
    }

    /// Returns the mark of the copy to continue, after marking the target if it has none.
    private func begin(
        _ own: CopyDigest,
        _ found: CopyMark?,
        movedTo: String?,
        anew: Bool
    ) async throws -> CopyMark {
        // Moved into another database, which may have counted attempts since.
        guard movedTo == nil || movedTo == found?.name else { throw StoreCopyFailure.movedElsewhere }
        var copy = CopyMark(of: own.hex)
        if let found {
            guard !found.isFinished else { throw StoreCopyFailure.targetInUse }
            if found.digest == own.hex { return found }
            guard anew else { throw StoreCopyFailure.sourceChanged }
            copy = CopyMark(named: found.name, of: own.hex)
        }
        let new = copy
        let facts = try await self.source.copiedFacts()
        guard try await self.target.perform(.changingFacts, { try $0.begin(new, replacing: found, facts) }) else {
            throw StoreCopyFailure.targetInUse
        }
        return new
    }

    /// Copies the data that the target lacks.
    ///
    /// Returns the number of wallets that the target already had.
    private func copy(_ copy: CopyMark, _ total: Int) async throws -> Int {
        try await self.readEntries(of: self.source) { list, entries in
            try await self.target.perform(.writing) { try $0.add(entries, to: list, of: copy) }
        }
        let before = try await self.target.walletCount()
        var done = before
        var cursor = try await self.target.perform(.reading) { try $0.lastCopied() }
        while true {
            try self.onProgress(.copying, done, total)
            let page = try await self.source.copiedWallets(after: cursor, limit: self.pageSize)
            if !page.wallets.isEmpty {
                try await self.target.perform(.writing) { try $0.add(page.wallets, of: copy) }
            }
            done += page.wallets.count
            guard let next = page.next else { return before }
            cursor = next
        }
    }

    /// Calls `use` with each page of each list, in order.
    private func readEntries(
        of store: any CopiedStore,
        _ use: (CopiedList, [CopiedEntry]) async throws -> Void
    ) async throws {
        for list in CopiedList.allCases {
            var last: [UInt8]?
            while true {
                let entries = try await store.copiedEntries(of: list, after: last, limit: self.pageSize)
                if entries.isEmpty { break }
                try await use(list, entries)
                last = entries.last?.key
            }
        }
    }

    /// Reads a whole store in pages.
    ///
    /// Rejects a store with damaged wallets.
    private func digest(of store: any CopiedStore, _ stage: Stage, _ total: Int) async throws -> CopyDigest {
        var digest = CopyDigest()
        digest.add(try await store.copiedFacts())
        try await self.readEntries(of: store) { list, entries in
            for entry in entries { digest.add(entry, of: list) }
        }
        var damaged: [WalletID] = []
        var cursor: Int64?
        repeat {
            let page = try await store.copiedWallets(after: cursor, limit: self.pageSize)
            for wallet in page.wallets { digest.add(wallet) }
            damaged += page.damaged.prefix(StoreCopyFailure.mostNamed - damaged.count)
            cursor = page.next
            try self.onProgress(stage, digest.wallets, total)
        } while cursor != nil
        guard damaged.isEmpty else {
            throw stage == .checking ? StoreCopyFailure.damaged(damaged) : StoreCopyFailure.differs
        }
        return digest
    }
}

/// A reason why a store was not copied.
///
/// Each description states the remedy.
package enum StoreCopyFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The source has damaged wallets, including these.
    case damaged([WalletID])
    /// The MACs of the source's attempt records were made with another key.
    case records
    /// The target has a wallet or a setting that does not belong to this copy, or a server has used the target.
    case targetInUse
    /// The source was moved into another database, or into a copy that has since been removed.
    case movedElsewhere
    /// The source has changed since the copy in the target began.
    case sourceChanged
    /// The two stores differ after the copy.
    case differs

    /// The maximum number of damaged wallets to name.
    static let mostNamed = 100

    package var description: String {
        switch self {
        case .damaged(let wallets):
            "the source has damaged wallets: \(wallets.map(\.description).joined(separator: ", ")). A PIN of such a "
                + "wallet is not judged. Revoke each with `remote-pin-server admin revoke wallet`, or restore a backup"
        case .records:
            "the MACs of the source's attempt records were made with another vault's key. Install the `vault.key-file` "
                + "that the source was served with"
        case .targetInUse:
            "the database is not empty, or a server has used it. Use a new database (`remote-pin-server store init`): "
                + "nothing is overwritten"
        case .movedElsewhere:
            "the source was moved into another database. Name that database to finish the copy. If it is lost, restore "
                + "a backup, in a new epoch, with `remote-pin-server restore`"
        case .sourceChanged:
            "the database has an unfinished copy of another store, or of this one before it was served again. To "
                + "remove the copied wallets and begin again, use --anew"
        case .differs:
            "the two stores differ after the copy, so the database is not served. Look into its log, and begin again "
                + "with --anew"
        }
    }
}
