internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// The tables, and the migrations from earlier versions.
///
/// A released version is never edited; each change is a new migration.
struct Schema: Sendable {
    /// The schema that this program reads and writes.
    static let current = Schema(migrations: [Schema.creation])

    /// The lock that a server holds while it creates or migrates the tables.
    private static let migrationLock: Int64 = 0x7250_494E_0001

    /// Resolves the store's names only in its schema and in the system's.
    static let searchPath = "set search_path = remote_pin, pg_temp"

    /// The statements of version 1.
    ///
    /// `wallets` contains the narrow rows (``NarrowRow``). They have a fixed width, are not compressed, and leave room
    /// in each page, so that an update stays in its page and touches no index. `wallet_values` contains the rest,
    /// identified by the version in the narrow row. No column that only a right PIN changes is indexed. Operator values
    /// are in the order of their bytes, as in a file, whatever collation the database has.
    private static let creation = """
        do $body$ begin
        create schema if not exists remote_pin;
        create table wallets (id bytea primary key, record bytea not null) with (fillfactor = 50);
        alter table wallets alter column id set storage plain;
        alter table wallets alter column record set storage plain;
        create table wallet_values (
            place bigint generated always as identity primary key,
            id bytea not null unique,
            version bigint not null,
            pin_key_id bytea not null,
            identity bytea not null,
            unlock_share bytea not null,
            presence_share bytea not null,
            deletion_code bytea not null,
            recovery_mac bytea not null,
            hardware_key bytea not null,
            next_unlock bytea,
            next_presence bytea,
            deletion_digest bytea unique,
            registered_at bigint not null,
            attested text not null
        );
        create table unopened (place bigint primary key, id bytea not null, registered_at bigint not null);
        create table ended (place bigint primary key, id bytea not null, at bigint not null);
        create table last_sessions (id bytea primary key, at bigint not null);
        create table recorded_blocks (id bytea primary key);
        create table denied_recovery_codes (mac bytea primary key, denied_at bigint not null);
        create table barred_hardware_keys (digest bytea primary key);
        create table purged_codes (digest bytea primary key, revoked_at bigint not null);
        create table operator_values (
            name text collate "C" primary key,
            value text not null,
            set_at bigint not null
        );
        create table vault_versions (
            version bigint primary key,
            active_since bigint not null,
            sealed_anew_at bigint,
            key_check bytea not null
        );
        create index unconfirmed_shares on wallet_values (place)
            where next_unlock is not null or next_presence is not null;
        create table share_refresh (
            id boolean primary key default true check (id),
            begun_at bigint not null,
            place bigint not null,
            last bigint not null
        );
        create table commit_numbers (
            server text not null,
            lane text not null,
            number bigint not null,
            primary key (server, lane)
        ) with (fillfactor = 50);
        create table audit_marks (server text primary key, number bigint not null, mac text not null);
        create table epochs (
            number bigint primary key check (number > 1),
            rule text not null,
            opened_at bigint not null,
            mac bytea not null
        );
        create table facts (
            id boolean primary key default true check (id),
            schema_version bigint not null,
            record_key_check bytea not null,
            epoch bigint not null default 1,
            solution_revoked boolean not null default false,
            policy text not null,
            lost_commits boolean not null default false,
            copy text,
            operator_revision bigint not null default 0,
            home text not null
        );
        create table leases (
            server text primary key,
            instance text not null,
            program text not null,
            schema_version bigint not null,
            vault_keys text not null,
            lasts_ms bigint not null,
            renewals bigint not null default 0,
            renewed_at bigint not null,
            acknowledged bigint not null default 0,
            connections bigint not null default 0,
            sessions bigint not null default 0,
            maintains boolean not null default false
        ) with (fillfactor = 50);
        create table revocation_count (
            id boolean primary key default true check (id),
            number bigint not null
        ) with (fillfactor = 50);
        create table revocations (number bigint primary key, wallets bytea);
        create table accounted_commits (
            server text not null,
            epoch bigint not null,
            judging bigint not null,
            transactions bigint not null,
            total bigint not null,
            primary key (server, epoch)
        );
        end $body$
        """

    /// The migration from each version n to n + 1; the first one creates a new store.
    let migrations: [String]

    var version: Int64 { Int64(self.migrations.count) }

    /// Returns the lines of ``SchemaObjects`` that the schema of a version has.
    func lines(in version: Int64) -> [String] { SchemaReader.lines(in: self.migrations.prefix(Int(version))) }

    /// Returns the names of the tables that the schema of a version has.
    func tables(in version: Int64) -> [String] {
        let kind = "table "
        return self.lines(in: version).filter { $0.hasPrefix(kind) }.map { String($0.dropFirst(kind.count)) }
    }

    /// An SQL expression for the place of this database, which changes when a dump is restored, but not in a failover.
    ///
    /// `facts` stores the place, and a dump contains the place of its source. A server therefore detects a restored
    /// dump even if it contains all of the server's commits.
    static let place = """
        concat_ws('/', (select system_identifier from pg_control_system()),
            (select oid from pg_database where datname = current_database()), 'remote_pin.facts'::regclass::oid)
        """

    /// Creates the tables of an empty database for this key.
    ///
    /// - Throws: ``PostgreSQLStoreOpenError/exists`` if the tables already exist.
    func create(on connection: any DatabaseConnection, _ parts: StoreParts) throws {
        let limit = parts.timeLimit
        _ = try connection.run(.session(.begin(isReadOnly: false)), within: limit)
        _ = try connection.run(.session(.lock(Self.migrationLock)), within: limit)
        guard try Self.foundVersion(on: connection, within: limit) == nil else {
            _ = try connection.run(.session(.rollBack), within: limit)
            throw PostgreSQLStoreOpenError.exists
        }
        for migration in self.migrations {
            _ = try connection.run(.session(.migrate(migration)), within: limit)
        }
        let policy = StorePolicy(parts.policy).text
        let facts = FactStatement.create(version: self.version, keyCheck: parts.key.check, policy: policy)
        _ = try connection.run(.facts(facts), within: limit)
        _ = try connection.run(.session(.commit), commits: true, within: limit)
    }

    /// Upgrades the tables to this version, on a connection whose store was checked (``StoreSession``).
    ///
    /// Returns their previous version, or nil if there was nothing to do. One server upgrades them, in one transaction,
    /// while others wait for its lock. A migration only adds tables and columns with defaults, so that servers of the
    /// previous version continue on their open connections.
    func migrate(on connection: any DatabaseConnection, within limit: Duration) throws -> Int64? {
        _ = try connection.run(.session(.begin(isReadOnly: false)), within: limit)
        _ = try connection.run(.session(.lock(Self.migrationLock)), within: limit)
        guard let found = try Self.foundVersion(on: connection, within: limit), found < self.version else {
            _ = try connection.run(.session(.rollBack), within: limit)
            return nil
        }
        for migration in self.migrations.dropFirst(Int(found)) {
            _ = try connection.run(.session(.migrate(migration)), within: limit)
        }
        _ = try connection.run(
            .sql("update facts set schema_version = $1", [.number(self.version)]),
            within: limit
        )
        _ = try connection.run(.session(.commit), commits: true, within: limit)
        return found
    }

    /// The version of the tables, or nil if the database has none.
    static func foundVersion(
        on connection: any DatabaseConnection,
        within limit: Duration
    ) throws(PostgreSQLFailure) -> Int64? {
        let tables = try connection.run(.facts(.exist), within: limit)
        guard tables.flag(0, 0) == true else { return nil }
        return try connection.run(.facts(.schemaVersion), within: limit).number(0, 0)
    }
}
