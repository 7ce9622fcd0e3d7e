package import PostgreSQLClient

/// A database's description of itself, for operators.
///
/// Reading it changes nothing.
package struct DatabaseReport: Hashable, Sendable {
    /// PostgreSQL's version, such as `15.18`.
    package let version: String
    private let versionNumber: Int64
    package let database: String
    package let role: String
    /// The address of the connected host, as reported by that host.
    package let address: String
    /// The version of the store's tables, or nil if it has none.
    package let schemaVersion: Int64?
    /// The policy that the store keeps for all servers, or nil if the tables are missing or have a later version.
    private let policy: StorePolicy?
    /// True if the database lacks commits that it has confirmed.
    package let lacksCommits: Bool
    /// True if the database was restored from a dump, or is a copy of another one.
    package let isRestored: Bool
    /// True if no server has used the store, and nothing is being copied into it.
    ///
    /// Every server notes the vault's key when it starts.
    package let isUnused: Bool
    /// The settings that a failover depends on.
    package let settings: [Setting]
    /// The first setting that could cause a commit to be lost, with its remedy, or nil if all settings are safe.
    package let durabilityProblem: String?
    /// True if each commit waits for a named standby.
    package let waitsForStandby: Bool
    /// The number of standbys that receive the log.
    package let standbys: Int64
    /// The number of standbys that acknowledge commits, or nil if this role is not allowed to see it.
    package let synchronousStandbys: Int64?
    /// The objects in the store's schema that this program does not make, makes otherwise, or misses.
    package let schemaDifferences: [String]
    /// The rights that the role lacks or should not have, each with its remedy.
    package let rightsProblems: [String]
    /// The database's time, in milliseconds since 1970, and the time that the query took.
    package let clock: Int64
    package let clockUncertainty: Duration

    /// The schema version that this program reads and writes.
    package static var knownSchemaVersion: Int64 { Schema.current.version }

    /// The oldest version of PostgreSQL that the store was built for.
    package static let oldestVersion: Int64 = 150_000

    package struct Setting: Hashable, Sendable, Encodable {
        package let name: String
        package let value: String
    }

    /// Returns whether this PostgreSQL is too old.
    package var isTooOld: Bool { self.versionNumber < Self.oldestVersion }

    /// Asks the database.
    package static func read(
        of target: PostgreSQLTarget,
        for durability: Durability,
        within limit: Duration
    ) async throws(PostgreSQLStoreOpenError) -> DatabaseReport {
        try await PostgreSQLWalletStore.onThread(of: StoreMachine()) {
            try DatabaseReport(PostgreSQLConnection(to: target, within: limit), durability, limit)
        }
    }

    private static let facts = """
        select current_setting('server_version_num')::bigint, split_part(current_setting('server_version'), ' ', 1),
            current_database()::text, current_user::text,
            coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'a local socket'),
            (select rolsuper from pg_roles where rolname = current_user),
            pg_has_role(current_user, 'pg_signal_backend', 'member'),
            has_database_privilege(current_database(), 'create'),
            (select pg_has_role(current_user, nspowner, 'usage') from pg_namespace where nspname = 'remote_pin')
        """

    private static let replication = """
        select count(*), count(*) filter (where sync_state in ('sync', 'quorum')),
            coalesce(bool_and(sync_state is not null), true)
        from pg_stat_replication
        """

    private init(_ connection: PostgreSQLConnection, _ durability: Durability, _ limit: Duration) throws {
        func ask(_ statement: String) throws -> PostgreSQLRows { try connection.run(statement, within: limit) }
        _ = try ask(Schema.searchPath)
        // The names of objects are compared as they are without quotes.
        _ = try ask("set quote_all_identifiers = off")
        let facts = try ask(Self.facts)
        guard let number = facts.number(0, 0), let version = facts.text(0, 1), let database = facts.text(0, 2),
            let role = facts.text(0, 3), let address = facts.text(0, 4), let mayCreate = facts.flag(0, 7)
        else { throw PostgreSQLStoreOpenError.unreachable("its description cannot be read") }
        (self.versionNumber, self.version) = (number, version)
        (self.database, self.role, self.address) = (database, role, address)
        let ownsSchema = facts.flag(0, 8)
        self.rightsProblems = Self.rightsProblems(
            role: role,
            isSuperuser: facts.flag(0, 5) == true,
            maySignal: facts.flag(0, 6) == true,
            mayCreate: mayCreate,
            ownsSchema: ownsSchema
        )
        // Without rights on the schema, PostgreSQL rejects even a query for its tables.
        self.schemaVersion = ownsSchema == false ? nil : try Schema.foundVersion(on: connection, within: limit)
        let kept = try self.schemaVersion.flatMap { version in
            guard version <= Schema.current.version else { return nil as PostgreSQLRows? }
            return try ask(
                """
                select policy, lost_commits, home = \(Schema.place),
                    copy is null and epoch = 1 and not exists (select from vault_versions)
                from facts
                """
            )
        }
        self.policy = kept?.text(0, 0).map { StorePolicy(reading: $0) }
        self.lacksCommits = kept?.flag(0, 1) ?? false
        self.isRestored = kept?.flag(0, 2) == false
        self.isUnused = kept?.flag(0, 3) ?? false
        let isKnown = self.schemaVersion.map { $0 <= Schema.current.version } ?? false
        let objects = isKnown ? try ask(SchemaObjects.statement).text(0, 0) : nil
        self.schemaDifferences =
            objects.map { SchemaObjects($0)?.differences(from: .current) ?? SchemaObjects.unreadable } ?? []
        let text = try ask("select \(DurabilitySettings.expression)").text(0, 0)
        guard let settings = text.flatMap(DurabilitySettings.init) else {
            throw PostgreSQLStoreOpenError.unreachable("its settings cannot be read")
        }
        self.settings = settings.named.map { Setting(name: $0.name, value: $0.value) }
        self.durabilityProblem = settings.problem(for: durability)
        self.waitsForStandby = settings.problem(for: .replicated) == nil
        let standbys = try ask(Self.replication)
        self.standbys = standbys.number(0, 0) ?? 0
        self.synchronousStandbys = standbys.flag(0, 2) == true ? standbys.number(0, 1) : nil
        let start = ContinuousClock.now
        self.clock = try ask("select (extract(epoch from clock_timestamp()) * 1000)::bigint").number(0, 0) ?? 0
        self.clockUncertainty = ContinuousClock.now - start
    }

    /// The settings that differ from the policy shared by all servers.
    package func differences(from policy: [String: String]) -> [PolicyDifference] {
        self.policy.map { StorePolicy(policy).differences(from: $0) } ?? []
    }

    /// The policy that the store keeps for all servers, by setting name, or nil if it has none.
    package var keptPolicy: [String: String]? { self.policy?.values }

    /// The rights of a role that may serve: it owns its tables and has no power over other sessions.
    ///
    /// Threat: a role that may signal other sessions can cancel a commit's wait for a standby, and a superuser can
    /// change every setting that the meaning of a commit depends on.
    private static func rightsProblems(
        role: String,
        isSuperuser: Bool,
        maySignal: Bool,
        mayCreate: Bool,
        ownsSchema: Bool?
    ) -> [String] {
        guard !isSuperuser else {
            return ["the role \(role) is a superuser; make a role for the servers that only owns this database"]
        }
        var problems: [String] = []
        if maySignal {
            let remedy = "as a superuser, run: revoke pg_signal_backend from \(role)"
            problems.append("the role \(role) may cancel the waits of other sessions (pg_signal_backend); \(remedy)")
        }
        switch ownsSchema {
        case false?:
            problems.append(
                "the schema remote_pin belongs to another role than \(role); connect as its owner, or as a "
                    + "superuser, run: alter schema remote_pin owner to \(role), and the same for its tables"
            )
        case nil where !mayCreate:
            problems.append(
                "the role \(role) may not create a schema; as a superuser, run: alter database … owner to \(role)"
            )
        default: break
        }
        return problems
    }
}
