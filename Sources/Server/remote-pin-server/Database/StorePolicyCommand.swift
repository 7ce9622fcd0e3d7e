internal import ArgumentParser
internal import AuditLog
internal import ConfigText
internal import HostSystem
internal import PostgreSQLStore
internal import ServerSettings
internal import StoreMaintenance
internal import WalletStore

/// Commands for the policy shared by all servers of a database.
struct StorePolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show or change the policy that all servers of a database share.",
        discussion: """
            The policy consists of the settings in the sections `pin`, `android` and `ios`, of `cluster.name`, and of \
            whether the server is a lab. The database keeps it, and a server with other values does not serve (exit \
            status 79).

              remote-pin-server store policy --config /etc/remote-pin/server.yaml
              remote-pin-server store policy set --config /etc/remote-pin/server.yaml
            """,
        subcommands: [StorePolicyShow.self, StorePolicySet.self],
        defaultSubcommand: StorePolicyShow.self
    )
}

/// Shows the policy shared by all servers next to this server's settings.
struct StorePolicyShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the policy in the database, and the settings of this server that differ.",
        discussion: """
            Connects once and changes nothing. Exit status: 0 if this server's settings are the policy, 79 if not.

              remote-pin-server store policy show /srv/remote-pin
              remote-pin-server store policy show --json \\
                --config /etc/remote-pin/server.yaml
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
            if let fault = report.schemaFault { throw database.failure(fault) }
            let kept = report.keptPolicy ?? [:]
            let differences = report.differences(from: policy)
            let json: JSONObject = ["policy": kept, "differences": differences]
            self.output.print(json) { page in
                let different = Set(differences.map(\.name))
                let names = Set(kept.keys).union(different).sorted()
                page.table(
                    ["SETTING", "ALL SERVERS", "THIS SERVER"],
                    names.map { name in
                        [name, kept[name] ?? "none", different.contains(name) ? policy[name] ?? "none" : "the same"]
                    }
                )
            }
            if !differences.isEmpty { throw database.failure(.otherPolicy(differences)) }
        }
    }
}

/// Replaces the policy shared by all servers with this server's settings.
struct StorePolicySet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Make the settings of this stopped server the policy of all servers.",
        discussion: """
            Change the settings of one server, stop it, run this as its user, and start it. From the change on, \
            servers with other settings judge no PIN and are not ready, so correct and restart them one by one. The \
            change, with each old and new value, is in this server's audit log (`store policy set`).

            A different `cluster.name` usually means that the address is another cluster's. The command then changes \
            nothing; with --rename-cluster it also replaces the name.

              remote-pin-server store policy set --config /etc/remote-pin/server.yaml
              remote-pin-server store policy set --yes --json \\
                --config /etc/remote-pin/server.yaml
            """
    )

    @Flag(help: "Skip the question; for scripts.")
    var yes = false

    @Flag(help: "Also replace the cluster's name.")
    var renameCluster = false

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    private static let phrase = "change the policy of all servers"

    func run() async throws {
        try await ending {
            let loaded = try self.options.settings()
            let database = try DatabaseSettings.required(by: loaded.settings)
            let server = try await StoppedServer(loaded)
            try server.requireItsUser(for: "store policy set")
            let policy = try ServerPolicy.values(of: loaded.settings)
            // Before the store is opened: this server's commits are not in another cluster's database, whose servers
            // would stop.
            let names = try await database.report().differences(from: policy).filter {
                $0.name == SettingTable.clusterName.name && $0.kept != nil
            }
            guard names.isEmpty || self.renameCluster else { throw database.failure(.otherPolicy(names)) }
            var parts = database.parts(key: RecordKey.derived(by: server.vault), policy: policy)
            parts.acceptsOtherPolicy = true
            try await DatabaseChange.run(parts, of: server, in: database) { change in
                let differences = try await change.store.policyDifferences()
                if !differences.isEmpty { try await self.make(change, differences) }
                self.output.print(["changes": differences]) { page in
                    guard !differences.isEmpty else {
                        return page.line("the policy of all servers is that of this one; nothing was changed")
                    }
                    for one in differences {
                        page.line("\(one.name): \(one.kept ?? "none") is now \(one.here ?? "none") for all servers")
                    }
                    page.line("next: start this server; correct the settings of the others and restart them")
                }
            }
        }
    }

    private func make(_ change: DatabaseChange, _ differences: [PolicyDifference]) async throws {
        let list = differences.map { "\($0.name) \($0.kept ?? "none") to \($0.here ?? "none")" }
        if !self.yes {
            let warning = """
                \(list.joined(separator: "\n"))
                Servers with other settings judge no PIN from now on.
                """
            try Phrase.ask(Self.phrase, because: warning)
        }
        try await change.make(.storePolicy, detail: list.joined(separator: ", ")) { () throws(StoreError) in
            try await change.store.setPolicy()
        }
    }
}

/// A change that a command makes to a store shared by several servers, recorded in the audit log of one of them, which
/// is stopped.
///
/// The change is in the log before it is committed, and the store names that entry in the same commit. The change can
/// therefore neither be made without an entry nor lose its entry unnoticed.
struct DatabaseChange {
    let store: PostgreSQLWalletStore
    let audit: AuditLog
    private let server: StoppedServer

    /// Opens the store and the log for a change, and closes them afterwards.
    static func run(
        _ parts: StoreParts,
        of server: StoppedServer,
        in database: DatabaseSettings,
        _ work: (DatabaseChange) async throws -> Void
    ) async throws {
        var parts = parts
        // The store compares this mark with the database, and the change raises it.
        parts.commitMark = CommitMark.path(ofAuditLog: server.auditPath)
        let store = try await database.open(parts)
        do {
            try await closing(await store.close()) {
                let epoch = try await StoreChecks.epoch(of: store, vault: server.vault)
                let audit = try await server.openAudit(epoch: epoch, of: store, as: database.server)
                try await closing(await audit.close()) {
                    try await work(DatabaseChange(store: store, audit: audit, server: server))
                }
            }
        } catch let error as StoreError {
            throw StartFailure(.unavailable, "the database \(database.place) takes no step: \(error)")
        }
    }

    /// Makes the change, between two entries.
    func make(_ event: AuditEvent, detail: String, _ commit: () async throws(StoreError) -> Void) async throws {
        let actor = self.server.actor
        do {
            let begun = try await self.audit.append(event, by: actor, .begun, detail: detail).number
            do throws(StoreError) {
                try await commit()
            } catch {
                let reason = "the database did not commit it"
                let phase: AuditPhase =
                    error == .outcomeUnknown ? .unclear(of: begun, reason: reason) : .failed(of: begun, reason: reason)
                try await self.audit.append(event, by: actor, phase, detail: detail)
                throw StartFailure(.unavailable, "the database did not take the change (\(error)); run it again")
            }
            try await self.audit.append(event, by: actor, .done(of: begun, result: "done"), detail: detail)
        } catch let error as AuditLogError {
            throw StartFailure(error)
        }
    }
}
