internal import PostgreSQLClient
@testable internal import PostgreSQLStore

internal import WalletStore
/// The statements by which an operator opens an epoch.
extension DatabaseStatement {
    static let epochStatements: [(String, Action)] = [
        (
            """
            select s.server, m.number, m.mac, j.number, t.number
            from (select server from audit_marks union select server from commit_numbers) s
            left join audit_marks m on m.server = s.server
            left join commit_numbers j on j.server = s.server and j.lane = '\(CommitLane.judging.rawValue)'
            left join commit_numbers t on t.server = s.server and t.lane = '\(CommitLane.transactions.rawValue)'
            order by s.server
            """,
            { execution in
                let tables = execution.tables
                let committed = tables.commitNumbers.keys.compactMap { $0.split(separator: " ").first.map(String.init) }
                let servers = Set(tables.auditMarks.keys).union(committed).sorted()
                return SimulatedRows(
                    servers.map { server in
                        let mark = tables.auditMarks[server].map {
                            [PostgreSQLValue.number($0.number), .text($0.mac)]
                        }
                        let commits: [PostgreSQLValue] = [CommitLane.judging, .transactions].map { lane in
                            tables.commitNumbers["\(server) \(lane.rawValue)"].map { .number($0) } ?? .null
                        }
                        return [.text(server)] + (mark ?? [.null, .null]) + commits
                    }
                )
            }
        ),
        (
            StoredEpoch.statement.text,
            { SimulatedRows($0.tables.epochs) }
        ),
        (
            "select version, active_since, sealed_anew_at, key_check from vault_versions order by version",
            {
                SimulatedRows(
                    $0.tables.vaultVersions.map { [.number($0.version), .number($0.since), .null, .bytes($0.check)] }
                )
            }
        ),
        (
            "select count(*) from leases where server <> $2 and not $1 = any(string_to_array(vault_keys, ' '))",
            {
                let (key, server) = ($0.text(1), $0.text(2))
                let lacking = $0.tables.leases.filter {
                    $0.key != server && !$0.value.vaultKeys.split(separator: " ").contains(key[...])
                }
                return rows([.number(Int64(lacking.count))])
            }
        ),
        (
            """
            insert into vault_versions (version, active_since, sealed_anew_at, key_check) values ($1, $2, $3, $4)
            on conflict do nothing
            """,
            {
                let (version, since, check) = ($0.number(1), $0.number(2), $0.bytes(4))
                guard !$0.tables.vaultVersions.contains(where: { $0.version == version }) else {
                    return SimulatedRows(changed: 0)
                }
                $0.change {
                    $0.vaultVersions.append((version: version, since: since, check: check))
                    $0.vaultVersions.sort { $0.version < $1.version }
                }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "insert into epochs (number, rule, opened_at, mac) values ($1, $2, $3, $4)",
            {
                let row = $0.values(1...4)
                $0.change { $0.epochs.append(row) }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "update unopened set registered_at = $1 where registered_at < $2",
            {
                let time = $0.number(1)
                $0.change { $0.unopened = $0.unopened.mapValues { ($0.id, max($0.at, time)) } }
                return SimulatedRows()
            }
        ),
        (
            "update facts set epoch = (select count(*) + 1 from epochs), lost_commits = false",
            {
                try $0.lock(.facts)
                $0.change {
                    $0.facts?.epoch = Int64($0.epochs.count + 1)
                    $0.facts?.lostCommits = false
                }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            """
            insert into accounted_commits as known (server, epoch, judging, transactions, total)
            values ($1, $2, $3, $4, $5) on conflict (server, epoch) do update set
                judging = greatest(known.judging, excluded.judging),
                transactions = greatest(known.transactions, excluded.transactions),
                total = greatest(known.total, excluded.total)
            """,
            {
                let (server, epoch, new) = ($0.text(1), $0.number(2), [$0.number(3), $0.number(4), $0.number(5)])
                $0.change {
                    let known = $0.accounted["\(server) \(epoch)"]?.numbers ?? [0, 0, 0]
                    let numbers = zip(known, new).map { max($0, $1) }
                    $0.accounted["\(server) \(epoch)"] = (server, epoch, numbers)
                }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            """
            select server, epoch, judging, transactions, total from accounted_commits
            where server = $1 or $1::text is null
            """,
            { execution in
                var server: String?
                if case .text(let name) = execution.value(1) { server = name }
                let found = execution.tables.accounted.sorted { $0.key < $1.key }.map(\.value)
                return SimulatedRows(
                    found.filter { server == nil || $0.server == server }.map {
                        [.text($0.server), .number($0.epoch)] + $0.numbers.map { .number($0) }
                    }
                )
            }
        ),
        (
            "delete from audit_marks where server = $1",
            {
                let server = $0.text(1)
                $0.change { $0.auditMarks[server] = nil }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "delete from leases",
            {
                $0.change { $0.leases = [:] }
                return SimulatedRows()
            }
        ),
        (
            """
            select coalesce(host(client_addr), 'this machine') from pg_stat_activity
            where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()
            """,
            { SimulatedRows($0.serverSessions.map { [.text($0)] }) }
        ),
    ]
}
