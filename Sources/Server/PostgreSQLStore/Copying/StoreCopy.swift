internal import PINPolicy
internal import PostgreSQLClient
internal import Secrets
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
        let facts = try await self.source.perform(FactsToCopy())
        guard try await self.target.perform(.changingFacts, { try $0.begin(new, replacing: found, facts) }) else {
            throw StoreCopyFailure.targetInUse
        }
        return new
    }

    /// Copies the data that the target lacks; returns the number of wallets that the target already had.
    private func copy(_ copy: CopyMark, _ total: Int) async throws -> Int {
        try await self.readRows(of: self.source) { table, rows in
            try await self.target.perform(.writing) { try $0.add(rows, to: table, of: copy) }
        }
        let before = try await self.target.walletCount()
        var done = before
        var cursor = try await self.target.perform(.reading) { try $0.firstAndLastPlace() }.map {
            UInt64(bitPattern: $0.last)
        }
        while true {
            try self.onProgress(.copying, done, total)
            let page = try await self.source.perform(WalletsToCopy(after: cursor, limit: self.pageSize))
            if !page.wallets.isEmpty {
                try await self.target.perform(.writing) { try $0.add(page.wallets, of: copy) }
            }
            done += page.wallets.count
            guard let next = page.next else { return before }
            cursor = next
        }
    }

    /// Calls `use` with each page of each side table, in order.
    private func readRows(
        of store: any WalletStore,
        _ use: (SideTable, [[ColumnValue]]) async throws -> Void
    ) async throws {
        for table in SideTable.copied {
            var last: ColumnValue?
            repeat {
                let page = try await store.perform(RowsToCopy(of: table, after: last, limit: self.pageSize))
                if !page.rows.isEmpty { try await use(table, page.rows) }
                last = page.next
            } while last != nil
        }
    }

    /// Reads a whole store in pages.
    ///
    /// Rejects a store with damaged wallets.
    private func digest(of store: any WalletStore, _ stage: Stage, _ total: Int) async throws -> CopyDigest {
        var digest = CopyDigest()
        digest.add(try await store.perform(FactsToCopy()))
        try await self.readRows(of: store) { table, rows in
            for row in rows { digest.add(row, of: table) }
        }
        var damaged: [WalletID] = []
        var cursor: UInt64?
        repeat {
            let page = try await store.perform(WalletsToCopy(after: cursor, limit: self.pageSize))
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

/// The store's record of the copy that fills or filled it.
///
/// Invariant (G3): while a copy is unfinished, no server judges anything here. Missing wallets could register again
/// with no counted attempts, and if the source was served in the meantime, the copied values could be older than its
/// counts. Every batch and every transaction reads the mark (``StoreSession/take(_:)``).
struct CopyMark: Hashable, Sendable {
    /// Identifies this copy.
    ///
    /// The source names it once it has been moved.
    let name: String
    /// The digest of the source when the copy began.
    var digest: String
    var isFinished = false

    private static let unfinished = "unfinished"
    private static let finished = "finished"

    /// An SQL expression for whether a copy is unfinished.
    static let isUnfinished = "coalesce(copy like '\(CopyMark.unfinished) %', false)"

    init(named name: String = SecretBytes.random(count: 16).exposedBytes().hex, of digest: String) {
        self.name = name
        self.digest = digest
    }

    /// Parses ``text``; returns nil for any other string.
    init?(reading text: String) {
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 3, [Self.unfinished, Self.finished].contains(words[0]) else { return nil }
        self.init(named: words[1], of: words[2])
        self.isFinished = words[0] == Self.finished
    }

    var text: String { "\(self.isFinished ? Self.finished : Self.unfinished) \(self.name) \(self.digest)" }
}

/// The steps of a copy into the store.
///
/// Invariant: a copy writes only into a store that is marked as its unfinished copy.
extension StoreTransaction {
    func copyMark() throws -> CopyMark? {
        let rows = try self.run("select copy from facts")
        guard let text = rows.text(0, 0) else { return nil }
        guard let mark = CopyMark(reading: text) else { throw StoreError.corrupt }
        return mark
    }

    /// Marks the store as an unfinished copy and writes the facts; returns false if the store is in use.
    ///
    /// Invariant (G3, G7): a store that has its own wallets, or that any server has ever served, cannot be a target.
    /// Every server notes the vault's key when it starts, so a served store is not empty.
    ///
    /// - Parameter earlier: The unfinished copy to replace, whose wallets are removed.
    func begin(_ copy: CopyMark, replacing earlier: CopyMark?, _ facts: CopiedFacts) throws -> Bool {
        guard try self.copyMark() == earlier else { return false }
        if let earlier {
            guard !earlier.isFinished else { return false }
            let tables = try self.tables().filter { $0 != "commit_numbers" }
            try self.run("truncate \(tables.joined(separator: ", ")) restart identity")
            try self.run("update facts set epoch = 1")
        } else {
            guard try self.isUntouched() else { return false }  // rule: copy-over-foreign-store
        }
        try self.run(
            "update facts set copy = $1, solution_revoked = $2, operator_revision = $3",
            [.text(copy.text), .flag(facts.isSolutionRevoked), .number(facts.operatorRevision)]
        )
        try OpenEpochs(facts.epochs).run(in: self)
        return true
    }

    /// The names of all tables except the facts table.
    private func tables() throws -> [String] {
        let rows = try self.run(
            """
            select quote_ident(relname) from pg_class
            where relnamespace = 'remote_pin'::regnamespace and relkind = 'r' and relname <> 'facts'
            """
        )
        return try (0..<rows.count).map { row in
            guard let name = rows.text(row, 0) else { throw StoreError.corrupt }
            return name
        }
    }

    private func isUntouched() throws -> Bool {
        let facts = try self.run("select epoch = 1 and not solution_revoked and operator_revision = 0 from facts")
        guard facts.flag(0, 0) == true else { return false }
        return try self.tables().allSatisfy { table in
            try self.run("select exists(select from \(table))").flag(0, 0) == false
        }
    }

    /// Rejects a store that is not this unfinished copy.
    private func require(_ copy: CopyMark) throws {
        guard !copy.isFinished, try self.copyMark() == copy else { throw StoreError.corrupt }
    }

    func add(_ rows: [[ColumnValue]], to table: SideTable, of copy: CopyMark) throws {
        try self.require(copy)
        let width = table.columns.count
        let places = rows.indices.map { row in
            "(\((1...width).map { "$\(row * width + $0)" }.joined(separator: ", ")))"
        }
        let columns = "\(table.rawValue) (\(table.columns.joined(separator: ", ")))"
        try self.run(
            "insert into \(columns) values \(places.joined(separator: ", ")) on conflict do nothing",
            rows.flatMap { $0.map(PostgreSQLValue.init) }
        )
    }

    /// Writes wallets and all their rows in one statement.
    func add(_ wallets: [WholeWallet], of copy: CopyMark) throws {
        try self.require(copy)
        let values = wallets.flatMap { wallet in
            let stored = StoredValues(copying: wallet)
            return [
                .number(wallet.row.key.number), .bytes(wallet.id.bytes), .bytes(stored.narrow(by: self.key)),
            ] + stored.wide + [
                wallet.deletionDigest.map { .bytes($0) } ?? .null, .number(wallet.registeredAt.milliseconds),
                wallet.attested.map { .text($0) } ?? .null,
            ]
                + [wallet.unopenedSince, wallet.endedAt, wallet.lastSession].map { (time) -> PostgreSQLValue in
                    time.map { .number($0.milliseconds) } ?? .null
                } + [.flag(wallet.isBlockRecorded)]
        }
        let added = try self.run(Self.addition(of: wallets.count), values)
        guard added.number(0, 0) == Int64(wallets.count) else { throw StoreError.corrupt }
    }

    /// The columns of a copied wallet, with their types.
    private static let columns: [(name: String, type: String)] =
        [("place", "bigint"), ("id", "bytea"), ("record", "bytea")] + StoredValues.wideColumns + [
            ("deletion_digest", "bytea"), ("registered_at", "bigint"), ("attested", "text"),
            ("unopened_since", "bigint"), ("ended_at", "bigint"), ("last_session", "bigint"),
            ("is_block_recorded", "boolean"),
        ]

    /// A statement that adds this many wallets and returns their number.
    private static func addition(of count: Int) -> String {
        let rows = (0..<count).map { row in
            let fields = Self.columns.enumerated().map { "$\(row * Self.columns.count + $0 + 1)::\($1.type)" }
            return "(\(fields.joined(separator: ",")))"
        }
        let names = Self.columns.map(\.name)
        let wide = names.filter {
            !["record", "unopened_since", "ended_at", "last_session", "is_block_recorded"].contains($0)
        }.joined(separator: ", ")
        return """
            with copied (\(names.joined(separator: ", "))) as (values \(rows.joined(separator: ",\n"))
            ), narrow as (insert into wallets (id, record) select id, record from copied returning 1
            ), wide as (
                insert into wallet_values (\(wide)) overriding system value select \(wide) from copied returning 1
            ), new as (
                insert into unopened (place, id, registered_at)
                select place, id, unopened_since from copied where unopened_since is not null
            ), gone as (
                insert into ended (place, id, at) select place, id, ended_at from copied where ended_at is not null
            ), seen as (
                insert into last_sessions (id, at) select id, last_session from copied where last_session is not null
            ), recorded as (
                insert into recorded_blocks (id) select id from copied where is_block_recorded
            )
            select least((select count(*) from narrow), (select count(*) from wide))
            """
    }

    /// Lets servers use the store, and stores the newest entry of this server's audit log.
    func finish(_ copy: CopyMark, _ newest: StoredAuditMark) throws {
        try self.require(copy)
        // The next wallet that registers comes after the copied ones.
        try self.run(
            """
            select setval(
                pg_get_serial_sequence('wallet_values', 'place'),
                (select coalesce(max(place), 0) + 1 from wallet_values),
                false
            )
            """
        )
        try self.keep(newest)
        var copy = copy
        copy.isFinished = true
        try self.run("update facts set copy = $1", [.text(copy.text)])
    }
}
