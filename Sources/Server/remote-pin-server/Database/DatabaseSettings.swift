internal import AttestationVerifier
internal import ConfigText
internal import Evidence
internal import Foundation
internal import HostSystem
internal import Metrics
internal import PostgreSQLClient
internal import PostgreSQLStore
internal import ServerSettings
internal import Statements
internal import Vocabulary
internal import WalletStore

/// The PostgreSQL database that the settings name, checked as far as possible without a connection.
struct DatabaseSettings {
    let target: PostgreSQLTarget
    /// The hosts and the database, for messages.
    let place: String
    /// This server's name.
    let server: String
    let durability: Durability
    let timeLimit: Duration
    let scanLimit: Duration
    /// The time for which this server's lease lasts.
    let lease: Duration

    /// Returns the database, or nil if the store is embedded.
    static func named(by settings: ServerSettings) throws -> DatabaseSettings? {
        guard settings[SettingTable.storeKind] == .postgreSQL else { return nil }
        return try DatabaseSettings(settings)
    }

    private init(_ settings: ServerSettings) throws {
        let address = try Self.address(settings)
        self.target = PostgreSQLTarget(address, password: try Self.password(settings))
        self.place = "\(address)"
        self.server = try Self.serverName(settings)
        self.durability =
            switch settings[SettingTable.durability] {
            case .replicated: .replicated
            case .local: .local
            }
        self.timeLimit = settings[SettingTable.storeTimeLimit]
        self.scanLimit = settings[SettingTable.storeScanLimit]
        self.lease = settings[SettingTable.clusterLease]
    }

    private static func address(_ settings: ServerSettings) throws -> PostgreSQLAddress {
        let mayBeUnverified = settings[SettingTable.storeTLS] == .address
        func checked(_ address: PostgreSQLAddress) throws -> PostgreSQLAddress {
            for file in address.files {
                // libpq would wait for the writer of a pipe. It names a missing file itself, if it needs that file.
                do throws(FileError) { _ = try DurableFile.read(file, atMost: 1 << 20) } catch .notFound {}
            }
            return mayBeUnverified ? address : try address.verified()
        }
        guard let service = settings[SettingTable.storeService],
            let file = settings[SettingTable.storeServiceFile]
        else {
            let text = settings[SettingTable.storeAddress] ?? ""
            return try explaining(.configuration, "`store.address`") { try checked(PostgreSQLAddress(text)) }
        }
        return try explaining(.configuration, "`store.service-file`: \(file)") {
            let bytes = try DurableFile.read(file, atMost: 1 << 20)
            return try checked(PostgreSQLAddress(service: service, of: String(decoding: bytes, as: UTF8.self)))
        }
    }

    /// The password from its file.
    private static func password(_ settings: ServerSettings) throws -> String? {
        guard let file = settings[SettingTable.storePasswordFile] else { return nil }
        let setting = "`store.password-file`"
        let (bytes, mode) = try explaining(.configuration, setting) {
            try DurableFile.readWithMode(file, atMost: 1 << 12)
        }
        guard mode & 0o077 == 0 else {
            throw StartFailure(
                .configuration,
                "\(setting): \(file) has mode 0\(String(mode & 0o777, radix: 8)); others must not read it (chmod 600)"
            )
        }
        let password = try mapError(SecretText.bytes(bytes, atMost: 1 << 12)) { (problem: SecretTextProblem) in
            StartFailure(.configuration, "\(setting): the password in \(file) \(problem)")
        }
        return String(decoding: password, as: UTF8.self)
    }

    private static func serverName(_ settings: ServerSettings) throws -> String {
        let machine = MachineName.current
        guard let name = settings.serverName(ofMachine: machine) else {
            throw StartFailure(
                .configuration,
                "`cluster.server` must be set: the machine's name, `\(machine)`, is not one of 1 to 63 letters, "
                    + "digits, dots and hyphens"
            )
        }
        return name
    }

    /// The parts of a store in this database.
    func parts(
        key: RecordKey,
        policy: [String: String],
        receipts: (any ReceiptSigner)? = nil,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        onRefusal: @escaping @Sendable (_ reason: String, _ error: (any Error)?) -> Void = { _, _ in }
    ) -> StoreParts {
        var parts = StoreParts(
            target: self.target,
            server: self.server,
            key: key,
            durability: self.durability,
            timeLimit: self.timeLimit,
            scanLimit: self.scanLimit,
            receipts: receipts,
            metrics: metrics,
            onRefusal: onRefusal
        )
        parts.policy = policy
        parts.lease = self.lease
        return parts
    }

    /// Asks the database for its description, without changing anything.
    func report() async throws -> DatabaseReport {
        try await mapError(
            of: await .read(of: self.target, for: self.durability, within: self.timeLimit),
            to: self.failure
        )
    }

    /// Opens the store.
    func open(_ parts: StoreParts) async throws -> PostgreSQLWalletStore {
        try await mapError(of: await .open(parts), to: self.failure)
    }

    /// Opens the store and acquires this server's lease.
    func openLeased(_ parts: StoreParts) async throws -> PostgreSQLWalletStore {
        let store = try await self.open(parts)
        do throws(PostgreSQLStoreOpenError) {
            try await store.takeLease()
        } catch {
            await store.close()
            throw self.failure(error)
        }
        return store
    }

    /// Upgrades the store's tables to this version and returns their previous version, or nil if there was nothing to
    /// do.
    func migrate(_ parts: StoreParts) async throws -> Int64? {
        try await mapError(of: await PostgreSQLWalletStore.migrate(parts), to: self.failure)
    }

    /// Converts the reason why the database cannot be used, and adds the remedy.
    func failure(_ error: PostgreSQLStoreOpenError) -> StartFailure {
        let kind: StartFailure.Kind
        switch error {
        // The service manager starts the server again.
        case .unreachable, .losesCommits, .unfinishedCopy, .nameInUse, .epochEnded: kind = .unavailable
        case .missing, .exists, .otherVersion, .otherKey, .lacksVaultKey, .markOfAnotherServer: kind = .configuration
        case .files: kind = .files
        case .lostCommits, .restored, .otherPolicy, .otherSchema: kind = .operatorMustAct
        }
        return StartFailure(kind, "the database \(self.place): \(Problem(error))")
    }
}

extension Problem {
    /// The reason why a database cannot be used, with the operator's next step.
    init(_ error: PostgreSQLStoreOpenError) {
        let cure =
            switch error {
            case .unreachable(let reason): Self.cure(of: reason)
            case .losesCommits: "nothing is judged until then; docs/cluster.md has the table of promises"
            case .missing: "create it with `remote-pin-server store init`"
            case .exists: "nothing was changed; look at it with `remote-pin-server store status`"
            case .otherVersion(let found, let known):
                found > known
                    ? "install the newer server" : "start this version of the server, which upgrades the store"
            case .lostCommits, .restored: Self.epochWayOut
            case .epochEnded:
                "start it again: it then compares its commits with those that the epoch took into account"
            case .markOfAnotherServer:
                "correct `cluster.server`, or `audit.file`; each server needs a separate audit log"
            case .files: "check the folder of `audit.file`: its owner, its mode and its disk"
            case .otherPolicy(let differences) where differences.contains { $0.name == SettingTable.clusterName.name }:
                "the database belongs to another cluster: correct its address, or `cluster.name`. To rename the "
                    + "cluster, run `remote-pin-server store policy set --rename-cluster`"
            case .otherPolicy:
                "correct this server's settings; or make them the policy of all servers with `remote-pin-server store "
                    + "policy set`"
            case .nameInUse:
                "give each server another `cluster.server`, or stop the other process and start this one again"
            case .otherSchema:
                "find out who changed it and remove the change (docs/cluster.md#the-schema); until then no server "
                    + "judges a PIN"
            case .unfinishedCopy: "run `remote-pin-server store copy` until it is done"
            case .lacksVaultKey: "install the newest copy of `vault.key-file`, and run `admin reload` or start again"
            case .otherKey: "install the `vault.key-file` that the store was created with"
            }
        self.init("\(error)", cure: cure)
    }

    /// The operator's next step with a database that lacks commits.
    static let epochWayOut =
        "Stop all servers, collect their audit logs, and open an epoch with `remote-pin-server store epoch`: it "
        + "charges every wallet and repeats the revocations (docs/cluster.md)"

    /// The cures of PostgreSQL's and libpq's messages, by a part of their text, in the order in which they apply.
    private static let cures: [(part: String, cure: String)] = [
        ("session is read-only", Self.standby),
        ("is a standby", Self.standby),
        (
            "did not answer in time",
            "see whether the host is up and not frozen, whether a standby acknowledges commits, and whether another "
                + "session locks a table of the store: select * from pg_stat_activity where pid in (select "
                + "unnest(pg_blocking_pids(pid)) from pg_stat_activity) (docs/cluster.md, \"Locks\")"
        ),
        (PostgreSQLConnection.pooler, "name the database's own host and port in the address (docs/cluster.md)"),
        ("timeout expired", "see whether the host is up, and whether a firewall drops packets"),
        ("root certificate", "name the authority's certificate in the address: sslrootcert=FILE"),
        ("certificate", "check the database's certificate: its name, its authority (sslrootcert) and its end"),
        ("password", "check the role's name and `store.password-file`"),
        ("no pg_hba.conf entry", "allow the role and this machine's address in pg_hba.conf, and reload the database"),
        ("permission denied", "connect as the owner of the schema remote_pin, or grant its rights (`store status`)"),
        ("relation \"", "the store's tables are missing or damaged: see `store status`"),
        ("does not exist", "create the role and the database, as docs/cluster.md shows"),
        ("Connection refused", "start the database, and check host, port and listen_addresses"),
        ("translate host name", "check the host's name and this machine's resolver"),
        ("No space left", "free space on the database's disk, or enlarge it; no restart of the server is needed"),
        ("starting up", "wait until the database has recovered"),
        ("remaining connection slots", Self.connections),
        ("too many", Self.connections),
    ]
    private static let standby =
        "the host is a standby. During a failover, wait; otherwise name the primary, or all hosts of the cluster"
    private static let connections = "raise max_connections: each server holds three connections"

    private static func cure(of reason: String) -> String {
        Self.cures.first { reason.contains($0.part) }?.cure ?? "look into the database's log"
    }

    /// Returns the operator's next step after this error of a running store, or nil if the error is not a database's.
    static func cure(of error: any Error) -> String? {
        switch error {
        case let error as PostgreSQLStoreOpenError: Problem(error).cure
        case let error as PostgreSQLFailure: Self.cure(of: "\(error)")
        default: nil
        }
    }
}

/// The settings that affect decisions about wallets and devices, by name, as kept by a store shared by several servers.
///
/// Threat: among servers with different policies, the most lenient one decides for all wallets, because a wallet
/// chooses its server. The store therefore rejects a server with other values.
enum ServerPolicy {
    /// The sections whose settings all belong to the policy.
    private static let sections = ["pin.", "android.", "ios."]

    static func values(_ settings: ServerSettings, _ verifier: EvidenceVerifier) -> [String: String] {
        var values: [String: String] = [:]
        for row in settings.rows where Self.sections.contains(where: { row.name.hasPrefix($0) }) {
            values[row.name] = row.value ?? ""
        }
        // Files may be in different places on each server.
        values[SettingTable.androidRoots.name] = Self.digest(of: verifier.androidAnchors)
        values[SettingTable.iosRoots.name] = Self.digest(of: verifier.appleAnchors)
        values[SettingTable.androidStatusList.name] = settings[SettingTable.androidStatusList] == nil ? "none" : "set"
        // A server of one cluster must not serve the wallets of another.
        if let name = settings[SettingTable.clusterName] { values[SettingTable.clusterName.name] = name }
        values[SettingTable.labFolder.name] = settings[SettingTable.labFolder] == nil ? "none" : "set"
        return values
    }

    /// The policy of a server whose files have not been checked yet.
    static func values(of settings: ServerSettings) throws -> [String: String] {
        let isLab = settings[SettingTable.labFolder] != nil
        return Self.values(settings, try AttestationSettings.verifier(settings, isLab: isLab, statusList: nil))
    }

    /// A digest of the roots' keys, regardless of their order.
    private static func digest(of anchors: [TrustAnchor]) -> String {
        let keys = Set(anchors.map { "\($0.keyHash)\n" }).sorted().joined()
        return "sha256 \(Array(sha256(Array(keys.utf8)).bytes.prefix(16)).hex)"
    }
}
