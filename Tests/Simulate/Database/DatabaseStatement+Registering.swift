internal import PostgreSQLClient
@testable internal import PostgreSQLStore

/// The statements that register and remove wallets.
extension DatabaseStatement {
    static let registeringStatements: [(String, Action)] = [
        (
            "select digest from barred_hardware_keys where digest = $1 order by digest",
            { rows($0.tables.barred.contains($0.bytes(1)) ? [.bytes($0.bytes(1))] : nil) }
        ),
        (
            "insert into wallets (id, record) values ($1, $2)",
            {
                let (id, record) = ($0.bytes(1), $0.bytes(2))
                try $0.lock(.wallet(id))
                guard $0.tables.wallets[id] == nil else { throw StatementExecution.Rejected(state: "23505") }
                $0.change { $0.wallets[id] = record }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            """
            insert into wallet_values (id, version, pin_key_id, identity, unlock_share, presence_share, deletion_code,
                recovery_mac, hardware_key, next_unlock, next_presence, deletion_digest, registered_at, attested)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning place
            """,
            {
                let id = $0.bytes(1)
                let columns = $0.values(2...11)
                var digest: [UInt8]?
                if case .bytes(let bytes) = $0.value(12) { digest = bytes }
                let wide = DatabaseTables.Wide(
                    place: $0.nextPlace(),
                    columns: columns,
                    deletionDigest: digest,
                    registeredAt: $0.number(13),
                    attested: $0.text(14)
                )
                $0.change { $0.wide[id] = wide }
                return rows([.number(wide.place)])
            }
        ),
        (
            "insert into unopened (place, id, registered_at) values ($1, $2, $3)",
            {
                let (place, id, time) = ($0.number(1), $0.bytes(2), $0.number(3))
                $0.change { $0.unopened[place] = (id, time) }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "delete from unopened where place = $1 returning place, id, registered_at",
            {
                let place = $0.number(1)
                let mark = $0.tables.unopened[place]
                $0.change { $0.unopened[place] = nil }
                return rows(mark.map { [.number(place), .bytes($0.id), .number($0.at)] })
            }
        ),
        Self.removal("delete from unopened where place in (select place from wallet_values where id = any($1))") {
            $0.unopened[$1.place] = nil
        },
        Self.removal("delete from ended where place in (select place from wallet_values where id = any($1))") {
            $0.ended[$1.place] = nil
        },
        Self.removal("delete from last_sessions where id = any($1)") { $0.lastSessions[$1.id] = nil },
        Self.removal("delete from recorded_blocks where id = any($1)") { $0.recordedBlocks.remove($1.id) },
        Self.removal("delete from wallet_values where id = any($1)") { $0.wide[$1.id] = nil },
        Self.removal("delete from wallets where id = any($1)") { $0.wallets[$1.id] = nil },
    ]

    /// A statement that removes rows of the wallets in its first parameter.
    private static func removal(
        _ text: String,
        _ remove: @escaping @Sendable (inout DatabaseTables, (id: [UInt8], place: Int64)) -> Void
    ) -> (String, Action) {
        (
            text,
            { execution in
                for id in execution.arrays(1) {
                    execution.change { tables in
                        let place = tables.wide[id]?.place ?? -1
                        remove(&tables, (id, place))
                    }
                }
                return SimulatedRows()
            }
        )
    }
}
