internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Reads of many wallets.
///
/// A walk follows the wide rows, so that no damaged or missing narrow row hides another wallet.
extension StoreTransaction {
    static let foundColumns = "p.place, p.id, w.record, v.version, b.id is not null"
    static let recordColumns = """
        p.place, p.id, \(StoredValues.columns), v.deletion_digest, v.registered_at, v.attested, u.registered_at,
            e.at, s.at, b.id is not null
        """

    func find(_ selection: WalletSelection) throws -> WalletPage<FoundWallet> {
        let rows = try self.rows(of: selection, Self.foundColumns)
        return try WalletPage(rows, of: selection) { row in
            let wallet: WalletID? = try? row.identifier(1)
            let narrow = row.bytesIfAny(2).flatMap { NarrowRow(decoding: $0) }
            return FoundWallet(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: wallet,
                state: narrow?.version == row.numberIfAny(3) ? narrow?.state : nil,
                attempts: wallet.flatMap { narrow?.attempts(of: $0, by: self.key) },
                isBlockRecorded: row.rows.flag(row.place, 4) == true
            )
        }
    }

    func records(_ selection: WalletSelection) throws -> WalletPage<WalletRecord> {
        let rows = try self.rows(of: selection, Self.recordColumns)
        return try WalletPage(rows, of: selection) { row in
            let wallet: WalletID = try row.identifier(1)
            return WalletRecord(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: wallet,
                registeredAt: try row.time(16),
                lastSession: row.timeIfAny(20),
                whole: try? self.whole(wallet, in: row)
            )
        }
    }

    private func whole(_ wallet: WalletID, in row: PostgreSQLRow) throws -> WholeWallet {
        let values = try StoredValues(row.rows, at: row.place, from: 2, of: wallet, by: self.key)
        return WholeWallet(
            id: wallet,
            attempts: [UInt8](values.onFile.prefix(KeptAttempts.byteCount)),
            row: values.wallet.row,
            next: values.wallet.next,
            deletionDigest: row.bytesIfAny(15),
            registeredAt: try row.time(16),
            attested: row.textIfAny(17),
            unopenedSince: row.timeIfAny(18),
            endedAt: row.timeIfAny(19),
            lastSession: row.timeIfAny(20),
            isBlockRecorded: row.rows.flag(row.place, 21) == true
        )
    }

    private func rows(of selection: WalletSelection, _ columns: String) throws -> [PostgreSQLRow] {
        func start(_ cursor: UInt64?) -> PostgreSQLValue { .number(WalletSelection.start(cursor)) }
        let (source, values): (String, [PostgreSQLValue]) =
            switch selection {
            case .next(let after, let last, let limit):
                (
                    Self.nextWallets,
                    [start(after), .number(last.map { Int64(bitPattern: $0) } ?? .max), .number(Int64(limit))]
                )
            case .ended(let after, let time, let limit):
                (
                    """
                    select place, case when at < $3 then id end as id from ended
                    where place > $1 order by place limit $2
                    """,
                    [start(after), .number(Int64(limit)), .number(time.milliseconds)]
                )
            case .unopened(let after, let time, let limit):
                (Self.unopenedWallets, [start(after), .number(Int64(limit)), .number(time.milliseconds)])
            case .these(let wallets): (Self.theseWallets, [.byteArrays(wallets.map(\.bytes))])
            }
        return PostgreSQLRow.all(in: try self.run(Self.reading(columns, of: source), values))
    }

    static let nextWallets = """
        select place, id from wallet_values where place > $1 and place <= $2 order by place limit $3
        """
    static let unopenedWallets = """
        select place, case when registered_at < $3 then id end as id from unopened
        where place > $1 order by place limit $2
        """
    /// A wallet without its wide row is found, too, and is a damaged one.
    static let theseWallets = """
        select coalesce(v.place, 0) as place, w.id from wallets w left join wallet_values v on v.id = w.id
        where w.id = any($1)
        """

    static func reading(_ columns: String, of source: String) -> String {
        """
        select \(columns) from (\(source)) p
        left join wallets w on w.id = p.id
        left join wallet_values v on v.place = p.place and p.id is not null
        left join unopened u on u.place = p.place
        left join ended e on e.place = p.place
        left join last_sessions s on s.id = p.id
        left join recorded_blocks b on b.id = p.id
        order by p.place
        """
    }

    func search(for mac: RecoveryCodeMAC, after cursor: UInt64?, limit: Int) throws -> WalletPage<FoundWallet> {
        let start = PostgreSQLValue.number(WalletSelection.start(cursor))
        let page = try self.run(
            """
            select max(place), count(*) from (
                select place from wallet_values where place > $1 order by place limit $2
            ) page
            """,
            [start, .number(Int64(limit))]
        )
        guard let last = page.number(0, 0), let count = page.number(0, 1) else {
            return WalletPage(wallets: [], next: nil)
        }
        let rows = try self.run(
            """
            select v.place, v.id, w.record from wallet_values v left join wallets w on w.id = v.id
            where v.place > $1 and v.place <= $2 and v.recovery_mac = $3
            """,
            [start, .number(last), .bytes(mac.bytes)]
        )
        let wallets = try PostgreSQLRow.all(in: rows).map { row in
            FoundWallet(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: try? row.identifier(1),
                state: row.bytesIfAny(2).flatMap { NarrowRow(decoding: $0) }?.state,
                attempts: nil,
                isBlockRecorded: false
            )
        }
        return WalletPage(wallets: wallets, next: count < limit ? nil : UInt64(bitPattern: last))
    }

    func firstAndLastPlace() throws -> (first: Int64, last: Int64)? {
        let range = try self.run("select min(place), max(place) from wallet_values")
        guard let first = range.number(0, 0), let last = range.number(0, 1) else { return nil }
        return (first, last)
    }

    /// The database finds rows by indexes that it keeps itself.
    func requireEveryPlace(after cursor: UInt64?, limit: Int) {}
}
