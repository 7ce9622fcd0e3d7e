internal import PostgreSQLClient
package import Vocabulary
package import WalletStore

/// The statements that find wallets, without locks.
package enum FindStatement: Sendable {
    /// The columns of ``StoreTransaction/find(_:)`` and of ``StoreTransaction/records(_:)``.
    package enum Columns: Int, Sendable {
        case found, records
    }

    case read(Columns, WalletSelection)
    /// Returns the id of the wallet with this digest of its deletion code.
    case deletionCode(SHA256Digest)
    /// Returns the last of the next places, and their number.
    case page(after: Int64, limit: Int)
    /// Returns the places, ids and narrow rows of the wallets in a range of places that have a recovery code's MAC.
    case linked(after: Int64, last: Int64, RecoveryCodeMAC)

    var sql: (text: String, values: [PostgreSQLValue]) {
        switch self {
        case .read(let columns, let selection): (Self.texts[columns.rawValue][selection.place], selection.values)
        case .deletionCode(let digest):
            ("select id from wallet_values where deletion_digest = $1", [.bytes(digest.bytes)])
        case .page(let place, let limit):
            (
                """
                select max(place), count(*) from (
                    select place from wallet_values where place > $1 order by place limit $2
                ) page
                """,
                [.number(place), .number(Int64(limit))]
            )
        case .linked(let place, let last, let mac):
            (
                """
                select v.place, v.id, w.record from wallet_values v left join wallets w on w.id = v.id
                where v.place > $1 and v.place <= $2 and v.recovery_mac = $3
                """,
                [.number(place), .number(last), .bytes(mac.bytes)]
            )
        }
    }

    /// The statements by columns and selection.
    ///
    /// A walk follows the wide rows, so that no damaged or missing narrow row hides another wallet. A wallet without
    /// one of its rows is found by its id, too, and is a damaged one.
    private static let texts = [
        "p.place, p.id, w.record, v.version, b.id is not null",
        """
        p.place, p.id, \(StoredValues.columns), v.deletion_digest, v.registered_at, v.attested, u.registered_at,
            e.at, s.at, b.id is not null
        """,
    ].map { columns in
        [
            "select place, id from wallet_values where place > $1 and place <= $2 order by place limit $3",
            "select place, case when at < $2 then id end as id from ended where place > $1 order by place limit $3",
            """
            select place, case when registered_at < $2 then id end as id from unopened
            where place > $1 order by place limit $3
            """,
            """
            select place, id from wallet_values where id = any($1)
            union all
            select 0, id from wallets w where id = any($1) and not exists (select from wallet_values where id = w.id)
            """,
        ].map { selection in
            """
            select \(columns) from (\(selection)) p
            left join wallets w on w.id = p.id
            left join wallet_values v on v.place = p.place and p.id is not null
            left join unopened u on u.place = p.place
            left join ended e on e.place = p.place
            left join last_sessions s on s.id = p.id
            left join recorded_blocks b on b.id = p.id
            order by p.place
            """
        }
    }
}

extension WalletSelection {
    fileprivate var place: Int {
        switch self {
        case .next: 0
        case .ended: 1
        case .unopened: 2
        case .these: 3
        }
    }

    fileprivate var values: [PostgreSQLValue] {
        func start(_ cursor: UInt64?) -> PostgreSQLValue { .number(Self.start(cursor)) }
        return switch self {
        case .next(let after, let last, let limit):
            [start(after), .number(last.map { Int64(bitPattern: $0) } ?? .max), .number(Int64(limit))]
        case .ended(let after, let time, let limit), .unopened(let after, let time, let limit):
            [start(after), .number(time.milliseconds), .number(Int64(limit))]
        case .these(let wallets): [.byteArrays(wallets.map(\.bytes))]
        }
    }
}
