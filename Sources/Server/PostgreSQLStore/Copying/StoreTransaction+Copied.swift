internal import PINPolicy
internal import PostgreSQLClient
internal import Vocabulary
package import WalletStore

/// Reads the contents of the store in the form used by copies.
extension StoreTransaction {
    func copiedFacts() throws -> CopiedFacts {
        let refresh = try self.run("select begun_at, place, last from share_refresh")
        return CopiedFacts(
            isSolutionRevoked: self.facts.isSolutionRevoked,
            operatorValues: try self.operatorValues(),
            epochs: try self.session.epochs(),
            vaultVersions: try self.vaultVersions(),
            refresh: try (0..<refresh.count).first.map { row in
                guard let cursor = refresh.number(row, 1), let last = refresh.number(row, 2) else {
                    throw StoreError.corrupt
                }
                return CopiedFacts.Refresh(begunAt: try refresh.time(row, 0), cursor: cursor, last: last)
            }
        )
    }

    func copiedEntries(of list: CopiedList, after key: [UInt8]?, limit: Int) throws -> [CopiedEntry] {
        let (table, column, at) = list.columns
        let rows = try self.run(
            "select \(column), \(at ?? "0::bigint") from \(table) where \(column) > $1 order by \(column) limit $2",
            [.bytes(key ?? []), .number(Int64(limit))]
        )
        return try (0..<rows.count).map { row in
            guard let key = rows.bytes(row, 0) else { throw StoreError.corrupt }
            return CopiedEntry(key: key, at: try rows.time(row, 1))
        }
    }

    func copiedWallets(after cursor: Int64?, limit: Int) throws -> CopiedPage {
        let rows = try self.run(
            """
            select \(StoredValues.columns), v.deletion_digest, v.registered_at, v.attested, u.registered_at, e.at, s.at,
                b.id is not null, v.id
            from (\(Self.nextWallets)) v
            left join wallets w on w.id = v.id
            left join unopened u on u.place = v.place
            left join ended e on e.place = v.place
            left join last_sessions s on s.id = v.id
            left join recorded_blocks b on b.id = v.id
            order by v.place
            """,
            [.number(cursor ?? .min), .number(Int64(limit))]
        )
        var page = CopiedPage(wallets: [], damaged: [], next: nil)
        for row in 0..<rows.count {
            let wallet: WalletID = try rows.identifier(row, 20)
            do {
                page.wallets.append(try self.copiedWallet(wallet, in: rows, at: row))
            } catch StoreError.corrupt {
                page.damaged.append(wallet)
            }
        }
        if rows.count == limit { page.next = rows.number(rows.count - 1, 2) }
        return page
    }

    private func copiedWallet(_ wallet: WalletID, in rows: PostgreSQLRows, at row: Int) throws -> CopiedWallet {
        func time(_ column: Int) -> Timestamp? { rows.number(row, column).map { Timestamp(milliseconds: $0) } }
        let values = try StoredValues(rows, at: row, of: wallet, by: self.key)
        let stored = [UInt8](values.onFile.prefix(KeptAttempts.byteCount))
        guard let attempts = CopiedWallet.attempts(stored, of: wallet, in: values.row.state, by: self.key),
            let attested = rows.text(row, 15), let isBlockRecorded = rows.flag(row, 19)
        else { throw StoreError.corrupt }
        return CopiedWallet(
            id: wallet,
            attempts: attempts,
            row: values.row,
            next: values.next,
            deletionDigest: rows.bytes(row, 13),
            registeredAt: try rows.time(row, 14),
            attested: attested,
            unopenedSince: time(16),
            endedAt: time(17),
            lastSession: time(18),
            isBlockRecorded: isBlockRecorded
        )
    }
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

    /// Marks the store as an unfinished copy and writes the facts.
    ///
    /// Returns false if the store is in use.
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
            guard try self.isUntouched() else { return false }
        }
        try self.run(
            "update facts set copy = $1, solution_revoked = $2, operator_revision = $3",
            [.text(copy.text), .flag(facts.isSolutionRevoked), .number(facts.operatorValues.revision)]
        )
        try self.open(facts.epochs)
        for (name, value) in facts.operatorValues.values {
            try self.run(
                "insert into operator_values (name, value, set_at) values ($1, $2, $3)",
                [.text(name), .text(value.text), .number(value.setAt.milliseconds)]
            )
        }
        for version in facts.vaultVersions {
            try self.run(
                "insert into vault_versions (version, active_since, sealed_anew_at, key_check) values ($1, $2, $3, $4)",
                [
                    .number(Int64(version.version)), .number(version.activeSince.milliseconds),
                    version.sealedAnewAt.map { .number($0.milliseconds) } ?? .null, .bytes(version.check),
                ]
            )
        }
        if let refresh = facts.refresh {
            try self.run(
                "insert into share_refresh (begun_at, place, last) values ($1, $2, $3)",
                [.number(refresh.begunAt.milliseconds), .number(refresh.cursor), .number(refresh.last)]
            )
        }
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

    /// The cursor of the last wallet, after which a copy continues.
    func lastCopied() throws -> Int64? {
        try self.run("select max(place) from wallet_values").number(0, 0)
    }

    func add(_ entries: [CopiedEntry], to list: CopiedList, of copy: CopyMark) throws {
        try self.require(copy)
        let (table, column, at) = list.columns
        let keys = PostgreSQLValue.byteArrays(entries.map(\.key))
        guard let at else {
            try self.run("insert into \(table) (\(column)) select unnest($1::bytea[]) on conflict do nothing", [keys])
            return
        }
        let times = entries.map { "\($0.at.milliseconds)" }.joined(separator: ",")
        try self.run(
            """
            insert into \(table) (\(column), \(at))
            select * from unnest($1::bytea[], string_to_array($2, ',')::bigint[]) on conflict do nothing
            """,
            [keys, .text(times)]
        )
    }

    /// Writes wallets and all their rows in one statement.
    func add(_ wallets: [CopiedWallet], of copy: CopyMark) throws {
        try self.require(copy)
        let values = wallets.flatMap { wallet in
            let stored = StoredValues(copying: wallet)
            return [
                .number(wallet.row.key.number), .bytes(wallet.id.bytes), .bytes(stored.narrow(by: self.key)),
            ] + stored.wide + [
                wallet.deletionDigest.map { .bytes($0) } ?? .null, .number(wallet.registeredAt.milliseconds),
                .text(wallet.attested),
            ]
                + [wallet.unopenedSince, wallet.endedAt, wallet.lastSession].map { (time) -> PostgreSQLValue in
                    time.map { .number($0.milliseconds) } ?? .null
                } + [.flag(wallet.isBlockRecorded)]
        }
        let added = try self.run(Self.addition(of: wallets.count), values)
        guard added.number(0, 0) == Int64(wallets.count) else { throw StoreError.corrupt }
    }

    /// The columns of a copied wallet, with their types.
    private static let columns = [
        ("place", "bigint"), ("id", "bytea"), ("record", "bytea"), ("version", "bigint"), ("pin_key_id", "bytea"),
        ("identity", "bytea"), ("unlock_share", "bytea"), ("presence_share", "bytea"), ("deletion_code", "bytea"),
        ("recovery_mac", "bytea"), ("hardware_key", "bytea"), ("next_unlock", "bytea"), ("next_presence", "bytea"),
        ("deletion_digest", "bytea"), ("registered_at", "bigint"), ("attested", "text"), ("unopened_since", "bigint"),
        ("ended_at", "bigint"), ("last_session", "bigint"), ("is_block_recorded", "boolean"),
    ]

    /// A statement that adds this many wallets and returns their number.
    private static func addition(of count: Int) -> String {
        let rows = (0..<count).map { row in
            let fields = Self.columns.enumerated().map { "$\(row * Self.columns.count + $0 + 1)::\($1.1)" }
            return "(\(fields.joined(separator: ",")))"
        }
        let wide = Self.columns.map(\.0).filter {
            !["record", "unopened_since", "ended_at", "last_session", "is_block_recorded"].contains($0)
        }.joined(separator: ", ")
        return """
            with copied (\(Self.columns.map(\.0).joined(separator: ", "))) as (values \(rows.joined(separator: ",\n"))
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

extension CopiedList {
    /// The list's table, with its key and time columns.
    fileprivate var columns: (table: String, key: String, at: String?) {
        switch self {
        case .deniedRecoveryCodes: ("denied_recovery_codes", "mac", "denied_at")
        case .barredHardwareKeys: ("barred_hardware_keys", "digest", nil)
        case .purgedCodes: ("purged_codes", "digest", "revoked_at")
        }
    }
}

extension PostgreSQLWalletStore: CopiedStore {
    package func copiedFacts() async throws(StoreError) -> CopiedFacts {
        try await self.perform(.reading) { try $0.copiedFacts() }
    }

    package func copiedEntries(
        of list: CopiedList,
        after: [UInt8]?,
        limit: Int
    ) async throws(StoreError) -> [CopiedEntry] {
        try await self.perform(.reading) { try $0.copiedEntries(of: list, after: after, limit: limit) }
    }

    package func copiedWallets(after: Int64?, limit: Int) async throws(StoreError) -> CopiedPage {
        try await self.perform(.reading) { try $0.copiedWallets(after: after, limit: limit) }
    }
}
