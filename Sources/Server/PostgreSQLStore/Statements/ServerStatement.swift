internal import PostgreSQLClient
package import WalletStore

/// The statements on the servers of the store: their commits, audit logs and revocations.
package enum ServerStatement: Sendable {
    /// Raises a lane's number and returns it, with the schema's objects if they may have changed.
    case countCommit(server: String, CommitLane)
    case commitNumbers(of: String)
    /// Numbers an end of wallets and notifies the servers; nil stands for all wallets.
    case announceEnds([UInt8]?)
    /// Returns each server with its audit mark and its commit numbers, sorted by name.
    case all
    case auditMark(of: String)
    case keepAuditMark(of: String, StoredAuditMark)
    case removeAuditMark(of: String)
    case account(AccountedCommits)
    /// Returns the accounted commits of a server, or of all.
    case accountedCommits(of: String?)
    /// Returns the number of other servers whose lease lacks a vault key.
    case countLacking(vaultKey: String, besides: String)
    case endLeases
    /// Records a reversal at the time of the database.
    case noteReversal(String)
    /// Returns the addresses of other sessions of this application.
    case sessions(application: String)

    var sql: (text: String, values: [PostgreSQLValue]) {
        switch self {
        case .countCommit(let server, let lane): (Self.counting, [.text(server), .text(lane.rawValue)])
        case .commitNumbers(let server):
            ("select lane, number from commit_numbers where server = $1", [.text(server)])
        case .announceEnds(let wallets): (Self.announcement, [PostgreSQLValue(wallets)])
        case .all: (Self.servers, [])
        case .auditMark(let server): ("select number, mac from audit_marks where server = $1", [.text(server)])
        case .keepAuditMark(let server, let mark):
            (Self.marking, [.text(server), .number(Int64(bitPattern: mark.number)), .text(mark.mac)])
        case .removeAuditMark(let server): ("delete from audit_marks where server = $1", [.text(server)])
        case .account(let commits): (Self.accounting, commits.values)
        case .accountedCommits(let server): (Self.accounted, [PostgreSQLValue(server)])
        case .countLacking(let key, let server):
            (
                "select count(*) from leases where server <> $2 and not $1 = any(string_to_array(vault_keys, ' '))",
                [.text(key), .text(server)]
            )
        case .endLeases: ("delete from leases", [])
        case .noteReversal(let name): (Self.reversal, [.text(name)])
        case .sessions(let application): (Self.sessionsText, [.text(application)])
        }
    }

    /// A statement that increments the commit number for server $s and lane $l, and returns it.
    static func count(server: Int, lane: Int) -> String {
        """
        insert into commit_numbers (server, lane, number) values ($\(server), $\(lane), 1)
        on conflict (server, lane) do update set number = commit_numbers.number + 1 returning number
        """
    }

    /// The tables that the transaction wrote are locked by now, so none of them can change before the commit.
    private static let counting = "\(ServerStatement.count(server: 1, lane: 2)), \(SchemaObjects.expression)"

    /// The number of revocations that are kept for servers which have not read them yet.
    ///
    /// A server that finds that it has missed one settles all of its connections.
    private static let keptRevocations = 1000

    private static let announcement = """
        with counted as (
            insert into revocation_count (number) values (1)
            on conflict (id) do update set number = revocation_count.number + 1 returning number
        ), pruned as (
            delete from revocations where number <= (select number from revocation_count) - \(Self.keptRevocations)
        ), added as (
            insert into revocations (number, wallets) select number, $1::bytea from counted
        )
        select pg_notify('\(LeaseChannel.revoked.rawValue)', '')
        """
    private static let servers = """
        select s.server, m.number, m.mac, j.number, t.number
        from (select server from audit_marks union select server from commit_numbers) s
        left join audit_marks m on m.server = s.server
        left join commit_numbers j on j.server = s.server and j.lane = '\(CommitLane.judging.rawValue)'
        left join commit_numbers t on t.server = s.server and t.lane = '\(CommitLane.transactions.rawValue)'
        order by s.server
        """
    private static let marking = """
        insert into audit_marks (server, number, mac) values ($1, $2, $3)
        on conflict (server) do update set number = excluded.number, mac = excluded.mac
        """
    private static let accounting = """
        insert into accounted_commits as known (server, epoch, judging, transactions, total)
        values ($1, $2, $3, $4, $5) on conflict (server, epoch) do update set
            judging = greatest(known.judging, excluded.judging),
            transactions = greatest(known.transactions, excluded.transactions),
            total = greatest(known.total, excluded.total)
        """
    private static let accounted = """
        select server, epoch, judging, transactions, total from accounted_commits
        where server = $1 or $1::text is null
        """
    private static let reversal = """
        insert into operator_values (name, value, set_at)
        values ($1, '', floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
        on conflict (name) do update set set_at = excluded.set_at
        """
    private static let sessionsText = """
        select coalesce(host(client_addr), 'this machine') from pg_stat_activity
        where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()
        """
}

extension AccountedCommits {
    fileprivate var values: [PostgreSQLValue] {
        [.text(self.server), .number(self.epoch)]
            + CommitLane.allCases.map { .number(self.numbers[$0, default: 0]) }
            + [.number(Int64(clamping: self.total))]
    }
}
