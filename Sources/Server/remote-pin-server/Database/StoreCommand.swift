internal import ArgumentParser
internal import HostSystem
internal import PostgreSQLStore
internal import ServerSettings
internal import StoreMaintenance
internal import Vault
internal import WalletStore

/// Commands for a PostgreSQL database shared by several servers.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Create, fill or look at the PostgreSQL store that several servers share.",
        discussion: """
            For `store.kind: postgresql`. A new cluster (docs/cluster.md), with the role and database of the servers:

              psql -c "create role remote_pin login password '…'" \\
                -c 'create database remote_pin owner remote_pin'
              remote-pin-server store init --config /etc/remote-pin/server.yaml
              remote-pin-server store status --config /etc/remote-pin/server.yaml
              remote-pin-server serve --config /etc/remote-pin/server.yaml

            To move a server's embedded store there, run `store copy` after `store init`.

            All servers of a database need the same `vault.key-file`, and the same `cluster.name` and settings \
            in the sections `pin`, `android` and `ios` (`store policy`).
            """,
        subcommands: [
            StoreInit.self, StoreCopyCommand.self, StoreStatus.self, StorePolicyCommand.self, StoreEpochCommand.self,
        ]
    )
}

/// Creates the tables in an empty database.
struct StoreInit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create the tables of an empty PostgreSQL database.",
        discussion: """
            Run it once for a cluster, on the first server. It checks the version of PostgreSQL, the role's rights and \
            the settings that a failover depends on, and creates the schema `remote_pin`, tied to the key in \
            `vault.key-file`. That file must exist (`remote-pin-server init`). The store keeps this server's attempt \
            and attestation policy and its `cluster.name` for all servers (`store policy`). It never changes a store \
            that exists.

              remote-pin-server store init /srv/remote-pin
              remote-pin-server store init --json --config /etc/remote-pin/server.yaml
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            let settings = try self.options.settings().settings
            let database = try DatabaseSettings.required(by: settings)
            let policy = try ServerPolicy.values(of: settings)
            let vault = try await KeyFileVault.open(settings)
            let before = try await database.report()
            try before.requireUsable(at: database.place)
            let parts = database.parts(key: RecordKey.derived(by: vault), policy: policy)
            try await mapError(of: await PostgreSQLWalletStore.create(parts), to: database.failure)
            let report = try await database.report()
            self.output.print(StoreStatus.json(report, database)) { page in
                page.line(
                    "created the schema remote_pin, version \(DatabaseReport.knownSchemaVersion), in \(database.place)"
                )
                page.line("its owner is the role \(report.role); its records have the key of `vault.key-file`")
                for sentence in report.sentences(for: database) { page.line(sentence) }
                page.line(
                    "next: remote-pin-server check-config, then serve, on each server with the same vault key; or "
                        + "store copy"
                )
            }
        }
    }
}

/// Shows the database and what a failover would preserve.
struct StoreStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the PostgreSQL store: server, schema, rights, and the losses that a failover could cause.",
        discussion: """
            Connects once and changes nothing. Exit status: 0 if a server could serve, 69 if the database cannot be \
            used now, 78 if its rights or version are wrong, and 79 if it lacks commits, keeps another policy, or has \
            objects in its schema that this program does not make.

              remote-pin-server store status /srv/remote-pin
              remote-pin-server store status --json --config /etc/remote-pin/server.yaml
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            let settings = try self.options.settings().settings
            let database = try DatabaseSettings.required(by: settings)
            let policy = try ServerPolicy.values(of: settings)
            let report = try await database.report()
            self.output.print(Self.json(report, database)) { page in
                page.facts([
                    ("database", "\(database.place), role \(report.role)"),
                    ("server", "PostgreSQL \(report.version) at \(report.address)"),
                    ("schema", report.schemaVersion.map { "version \($0)" } ?? "none"),
                    ("this server", database.server),
                ])
                for sentence in report.sentences(for: database) { page.line(sentence) }
            }
            try report.requireStore(in: database, for: policy)
        }
    }

    /// The output of `--json`.
    static func json(_ report: DatabaseReport, _ database: DatabaseSettings) -> JSONObject {
        [
            "database": database.place,
            "role": report.role,
            "version": report.version,
            "address": report.address,
            "schemaVersion": report.schemaVersion,
            "knownSchemaVersion": DatabaseReport.knownSchemaVersion,
            "durability": database.durability.rawValue,
            "settings": report.settings,
            "standbys": report.standbys,
            "synchronousStandbys": report.synchronousStandbys,
            // The losses that a commit survives, and each problem with its remedy.
            "sentences": report.sentences(for: database),
            "problems": report.problems.map(\.text),
        ]
    }
}

extension DatabaseSettings {
    /// The database named in the settings; throws if the store is embedded.
    static func required(by settings: ServerSettings) throws -> DatabaseSettings {
        guard let database = try Self.named(by: settings) else {
            throw StartFailure(
                .notAllowed,
                "`store.kind` is sqlite: this command is for PostgreSQL; `remote-pin-server init` creates an "
                    + "embedded store"
            )
        }
        return database
    }
}

extension DatabaseReport {
    /// The problems that prevent a server from serving.
    var problems: [(kind: StartFailure.Kind, text: String)] {
        var problems: [(StartFailure.Kind, String)] = []
        if self.isTooOld {
            problems.append((.configuration, "PostgreSQL \(self.version) is too old; install version 15 or newer"))
        }
        problems += self.rightsProblems.map { (.configuration, $0) }
        if !self.schemaDifferences.isEmpty {
            problems.append((.operatorMustAct, "\(Problem(.otherSchema(self.schemaDifferences)))"))
        }
        if let durabilityProblem {
            problems.append((.unavailable, "the database may lose commits: \(durabilityProblem)"))
        }
        return problems
    }

    /// Rejects a database that a server must not use to judge attempts.
    func requireUsable(at place: String) throws {
        guard let first = self.problems.first else { return }
        throw StartFailure(
            first.kind,
            "the database \(place) is not used:\n" + self.problems.map(\.text).joined(separator: "\n")
        )
    }

    /// The fault in the store's tables, or nil if this program knows or can upgrade their version.
    var schemaFault: PostgreSQLStoreOpenError? {
        guard let found = self.schemaVersion else { return .missing }
        let known = Self.knownSchemaVersion
        return found <= known ? nil : .otherVersion(found: found, known: known)
    }

    /// The fault in the store's contents for a server with this policy, or nil if it could serve.
    func fault(for policy: [String: String]) -> PostgreSQLStoreOpenError? {
        if self.lacksCommits { return .lostCommits }
        if self.isRestored { return .restored }
        let differences = self.differences(from: policy)
        return differences.isEmpty ? nil : .otherPolicy(differences)
    }

    /// Rejects a database that would make a server with this policy fail to start.
    func requireStore(in database: DatabaseSettings, for policy: [String: String]) throws {
        try self.requireUsable(at: database.place)
        if let fault = self.schemaFault ?? self.fault(for: policy) { throw database.failure(fault) }
    }

    /// The losses that commits in this database survive, as sentences.
    func sentences(for database: DatabaseSettings) -> [String] {
        var sentences = self.problems.map { "problem: \($0.text)" }
        if self.waitsForStandby {
            sentences.append(
                "A failover keeps every answered attempt and every revocation: each commit waits for a standby that "
                    + "synchronous_standby_names names."
            )
        } else if database.durability == .local, self.durabilityProblem == nil {
            sentences.append(
                "warning: `cluster.durability` is local. A crash loses nothing, but a failover, or the loss of this "
                    + "machine, takes back attempts and revocations that were answered."
            )
        }
        if self.isUnused {
            sentences.append(
                "The store is empty, and no server has used it: start a server with a new audit log, or copy an "
                    + "embedded store into it with `store copy`."
            )
        }
        if let found = self.schemaVersion, found < Self.knownSchemaVersion {
            sentences.append(
                "The schema has version \(found): the next server that starts upgrades it to "
                    + "\(Self.knownSchemaVersion), after which servers of the earlier version cannot connect anew."
            )
        }
        let known =
            self.synchronousStandbys.map { "\($0) of them acknowledge commits" }
            ?? "this role may not see which of them acknowledge commits (grant pg_read_all_stats shows it)"
        sentences.append(
            self.standbys == 0
                ? "No standby receives the log at present."
                : "Standbys that receive the log: \(self.standbys); \(known)."
        )
        return sentences
    }
}
