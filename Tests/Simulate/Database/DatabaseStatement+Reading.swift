internal import PostgreSQLClient
@testable internal import PostgreSQLStore

/// The statements that read for operators, the audit log and the portal.
extension DatabaseStatement {
    static let readingStatements: [(String, Action)] = [
        (
            "select id from wallet_values where deletion_digest = $1",
            {
                let digest = $0.bytes(1)
                return rows($0.tables.wide.first { $0.value.deletionDigest == digest }.map { [.bytes($0.key)] })
            }
        ),
        ("select digest, revoked_at from purged_codes where digest = $1 order by digest", { _ in SimulatedRows() }),
        (
            "select mac, denied_at from denied_recovery_codes where mac = $1 order by mac",
            { execution in
                let mac = execution.bytes(1)
                return rows(execution.tables.deniedCodes[mac].map { [.bytes(mac), .number($0)] })
            }
        ),
        (
            """
            select max(place), count(*) from (
                select place from wallet_values where place > $1 order by place limit $2
            ) page
            """,
            {
                let places = $0.tables.wide.values.map(\.place).sorted()
                let (after, most) = ($0.number(1), Int($0.number(2)))
                let page = places.filter { $0 > after }.prefix(most)
                return rows([page.last.map { .number($0) } ?? .null, .number(Int64(page.count))])
            }
        ),
        (
            """
            select v.place, v.id, w.record from wallet_values v left join wallets w on w.id = v.id
            where v.place > $1 and v.place <= $2 and v.recovery_mac = $3
            """,
            {
                let (after, last, mac, tables) = ($0.number(1), $0.number(2), $0.bytes(3), $0.tables)
                let found = tables.wide.filter {
                    guard case .bytes(let own) = $0.value.columns[6] else { return false }
                    return $0.value.place > after && $0.value.place <= last && own == mac
                }
                return SimulatedRows(
                    found.sorted { $0.value.place < $1.value.place }.map { id, wide in
                        [.number(wide.place), .bytes(id), tables.wallets[id].map { .bytes($0) } ?? .null]
                    }
                )
            }
        ),
        (
            StoreTransaction.reading(StoreTransaction.foundColumns, of: StoreTransaction.nextWallets),
            { execution in
                let (after, last, limit) = (execution.number(1), execution.number(2), Int(execution.number(3)))
                let page = execution.tables.wide.filter { $0.value.place > after && $0.value.place <= last }
                    .sorted { $0.value.place < $1.value.place }.prefix(limit)
                return SimulatedRows(page.map { execution.tables.found($0.key) })
            }
        ),
        (
            StoreTransaction.reading(StoreTransaction.foundColumns, of: StoreTransaction.unopenedWallets),
            { execution in
                let (after, limit, time) = (execution.number(1), Int(execution.number(2)), execution.number(3))
                let page = execution.tables.unopened.filter { $0.key > after }.sorted { $0.key < $1.key }
                return SimulatedRows(
                    page.prefix(limit).map { place, mark in
                        let found = execution.tables.found(mark.id)
                        guard mark.at < time else { return [.number(place), .null, .null, .null, .flag(false)] }
                        // Another wallet may have taken the id.
                        let version = execution.tables.wide[mark.id]?.place == place ? found[3] : .null
                        return [.number(place), .bytes(mark.id), found[2], version, found[4]]
                    }
                )
            }
        ),
        (
            StoreTransaction.reading(StoreTransaction.foundColumns, of: StoreTransaction.theseWallets),
            { execution in
                let known = execution.arrays(1).filter { execution.tables.wallets[$0] != nil }
                return SimulatedRows(known.map { execution.tables.found($0) })
            }
        ),
        (
            StoreTransaction.reading(StoreTransaction.recordColumns, of: StoreTransaction.theseWallets),
            { execution in
                let known = execution.arrays(1).filter { execution.tables.wallets[$0] != nil }
                return SimulatedRows(known.compactMap { execution.tables.record($0) })
            }
        ),
        (
            "select number, mac from audit_marks where server = $1",
            { rows($0.tables.auditMarks[$0.text(1)].map { [.number($0.number), .text($0.mac)] }) }
        ),
        (
            "select operator_revision from facts",
            { rows($0.tables.facts.map { [.number($0.revision)] }) }
        ),
        ("select name, value, set_at from operator_values order by name", { _ in SimulatedRows() }),
    ]
}
