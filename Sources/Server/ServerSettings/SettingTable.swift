package import ConfigText
internal import Foundation
package import Vocabulary

/// Every setting of the server, in the order used by the manual.
package enum SettingTable {
    /// The prefix of every setting's environment variable.
    package static let environmentPrefix = "REMOTE_PIN_"

    /// All settings, with the sections of the configuration file.
    package static let catalog = SettingCatalog(
        sections: Self.sections,
        Self.network + Self.proxyProtocol + Self.storage + Self.store + Self.witness + Self.maintenance + Self.portal
            + Self.limits
            + Self.pin
            + Self.android + Self.iOS + Self.stopping + Self.hooks + Self.observation + Self.operation,
        environmentPrefix: Self.environmentPrefix,
        // Variables used by the tests and the wallet.
        foreignVariables: ["REMOTE_PIN_VECTORS", "REMOTE_PIN_HOME", "REMOTE_PIN_WALLET_", "REMOTE_PIN_TEST_"]
    )

    package static var all: [any SettingDeclaration] { Self.catalog.settings }

    private static let sections: [(name: String, text: String)] = [
        (
            "listen",
            "The address for wallets. TLS ends at this server: a load balancer must pass it through (layer 4)."
        ),
        ("tls", "The server's certificate. Wallets pin its authority or its key."),
        ("proxy-protocol", "Load balancers in front of the server that pass on their clients' addresses."),
        ("data", "The folder of the embedded database of wallets."),
        ("vault", "The keys that seal everything in the database."),
        ("store", "The database of wallets: embedded, or PostgreSQL."),
        ("cluster", "Several servers with one PostgreSQL database (docs/cluster.md)."),
        ("clock", "The system's clock, which the server reads once, at its start."),
        ("purge", "The removal of wallets that were revoked or wiped."),
        ("admin", "The socket for admin commands."),
        ("audit", "The tamper-evident log of admin commands and revocations."),
        (
            "witness",
            "A program outside the server that keeps the highest generation of the database, by which a start "
                + "recognizes an older copy (docs/witness.md)."
        ),
        (
            "portal",
            "The web page on which users enter their deletion code. remote-pin-portal reads this section, `log.level` "
                + "and `log.format`."
        ),
        ("limits", "Timeouts in real time, numbers of connections, and call rates of one source."),
        ("session", "Sessions, from OpenSession to the end of the connection."),
        ("enrollment", "Enrollments, from BeginEnrollment to the first session."),
        ("pin", "The number of wrong PINs and their consequences."),
        ("features", "Features that the server offers to wallets."),
        ("android", "The Android devices and apps that may register."),
        ("ios", "The iOS devices and apps that may register."),
        ("update", "The app versions that the server supports."),
        ("observation", "The HTTP listener for monitoring: metrics, liveness and readiness."),
        (
            "hook",
            "Programs that are notified when a wallet is blocked or revoked: one JSON object per line (docs/hooks.md)."
        ),
        ("drain", "The shutdown of the server."),
        ("log", "The server's log. Secrets, PINs and codes are never logged."),
        ("lab", "A server for tests, with an adjustable clock and its own attestation roots."),
    ]

    private static let network: [any SettingDeclaration] = [
        Self.listenAddress, Self.listenThreads, Self.tlsCertificate, Self.tlsKey,
    ]
    private static let storage: [any SettingDeclaration] = [
        Self.dataFolder, Self.vaultKeyFile, Self.vaultSocket, Self.vaultConnections, Self.vaultTimeLimit,
        Self.adminSocket, Self.adminGroup, Self.observerGroup, Self.supportGroup, Self.securityGroup,
        Self.auditFile, Self.auditExport, Self.auditExportSocket,
    ]
    private static let limits: [any SettingDeclaration] = [
        Self.handshakeLimit, Self.frameLimit, Self.idleWithoutSession, Self.idleInEnrollment, Self.idleWithSession,
        Self.connections, Self.connectionsPerSource, Self.handshakes, Self.longFrames, Self.framesPerSource,
        Self.frameBurstPerSource, Self.enrollmentsPerSource, Self.enrollmentBurstPerSource, Self.sessionLifetime,
        Self.tokenLifetime, Self.unopenedLifetime,
    ]
    private static let pin: [any SettingDeclaration] = [
        Self.rounds, Self.attemptsPerRound, Self.blocks, Self.deletionCode,
    ]
    private static let operation: [any SettingDeclaration] = [
        Self.androidMinimumVersion, Self.androidNotifyVersion, Self.iosMinimumVersion, Self.iosNotifyVersion,
        Self.logLevel, Self.logFormat, Self.logFile, Self.labFolder,
    ]
}

extension SettingTable {
    package static let listenAddress = Setting(
        "listen.address",
        .address("0.0.0.0:7400 or [::]:7400"),
        standard: HostAndPort(host: "127.0.0.1", port: 7400),
        "Address and port for wallets. Port 0 chooses a free port."
    )
    package static let listenThreads = Setting(
        "listen.threads",
        .number(0...256),
        standard: 0,
        "Number of threads that serve connections; 0 for one per processor. One thread checks thousands of PINs a "
            + "second."
    )
    package static let tlsCertificate = Setting(
        "tls.certificate",
        .path,
        standard: nil,
        "PEM file with the server's certificate, followed by those of its issuers. Read again on SIGHUP."
    )
    package static let tlsKey = Setting(
        "tls.key",
        .path,
        standard: nil,
        "PEM file with the certificate's private key. The server rejects a file that other users can read."
    )
    package static let dataFolder = Setting(
        "data.folder",
        .path,
        standard: "data",
        "Folder of the embedded database. Only one server at a time can use it."
    )
    package static let vaultKeyFile = Setting(
        "vault.key-file",
        .path,
        standard: "vault.key",
        "File with the vault's keys, mode 0600. Without it every wallet is lost; keep a copy apart from the database."
    )
    package static let vaultSocket = Setting(
        optional: "vault.socket",
        .path,
        "Unix socket of `remote-pin-keys`, for keys in a hardware module (docs/keys.md)."
    )
    package static let vaultConnections = Setting(
        "vault.connections",
        .number(1...64),
        standard: 8,
        "Largest number of connections to `vault.socket`, each with one request at a time."
    )
    package static let vaultTimeLimit = Setting(
        "vault.time-limit",
        .duration(.milliseconds(100) ... .seconds(30)),
        standard: .seconds(2),
        "Longest time to wait for a key from the module; the wallet is then told that the server is unavailable."
    )
    package static let adminSocket = Setting(
        "admin.socket",
        .path,
        standard: "admin.sock",
        "Unix-domain socket for admin commands, at most 100 bytes long. Without role groups, any user who can "
            + "open it can give every command."
    )
    package static let adminGroup = Setting(
        optional: "admin.group",
        .group,
        "Group whose members may also open the socket (mode 0660). Without a group only the server's user may."
    )
    package static let observerGroup = Setting(
        optional: "admin.observer-group",
        .group,
        "Members of `admin.group` who are in this group may see the server's state. As soon as one of the three groups "
            + "is set, a member of `admin.group` in none of them may give no command. Root and the server's user may "
            + "give all."
    )
    package static let supportGroup = Setting(
        optional: "admin.support-group",
        .group,
        "Members of this group may also look at wallets, and revoke one at a time."
    )
    package static let securityGroup = Setting(
        optional: "admin.security-group",
        .group,
        "Members of this group may give every command."
    )
    package static let auditFile = Setting(
        "audit.file",
        .path,
        standard: "audit.log",
        "File of the audit log, mode 0600. Keep it outside the data folder: a restored database replays its "
            + "revocations."
    )
    package static let auditExport = Setting(
        "audit.export",
        .choice,
        standard: AuditExportSetting.none,
        "Log service that also receives each audit entry: `journal` with fields, `syslog` as JSON. The audit log "
            + "remains the record: an entry that the service does not take is not sent again."
    )
    package static let auditExportSocket = Setting(
        optional: "audit.export-socket",
        .path,
        "Unix socket of that log service, at most 100 bytes long. With none, `/run/systemd/journal/socket` or "
            + "`/dev/log`."
    )
    package static let sessionLifetime = Setting(
        "session.lifetime",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(900),
        "Longest duration of a session; the wallet then opens another one."
    )
    package static let tokenLifetime = Setting(
        "enrollment.token-lifetime",
        .duration(.seconds(1) ... .seconds(3600)),
        standard: .seconds(300),
        "Time to finish an enrollment. Attestation takes some seconds on a real phone."
    )
    package static let unopenedLifetime = Setting(
        "enrollment.unopened-lifetime",
        .duration(.seconds(60) ... .seconds(30 * 86_400)),
        standard: .seconds(86_400),
        "A registration is removed if no session is opened for it within this time."
    )
}

extension SettingTable {
    package static let rounds = Setting(
        "pin.rounds",
        .number(AttemptPolicy.allowedRounds),
        standard: AttemptPolicy.standard.rounds,
        "Number of rounds of attempts; after the last round the wallet is blocked permanently."
    )
    package static let attemptsPerRound = Setting(
        "pin.attempts-per-round",
        .number(AttemptPolicy.allowedAttempts),
        standard: AttemptPolicy.standard.attemptsPerRound,
        "Number of wrong PINs in one round. Between two right PINs the server checks at most rounds × attempts."
    )
    package static let blocks = Setting(
        "pin.blocks",
        .list(of: .duration(AttemptPolicy.allowedBlocks)),
        standard: AttemptPolicy.standard.blocks,
        "Waiting time after each round except the last: at most one less than there are rounds. If the list is "
            + "shorter, its last value also applies to the remaining rounds; with `[]` no round but the last ends in a "
            + "block."
    )
    package static let deletionCode = Setting(
        "features.deletion-code",
        .flag,
        standard: true,
        "Gives each new wallet a code with which its user can revoke it without the device."
    )
    package static let androidMinimumVersion = Setting(
        optional: "update.android-minimum",
        .version,
        "Lowest supported version of the Android app. Older ones may call only Hello, RevokeWithCode, OpenSession and "
            + "ReportWipe."
    )
    package static let androidNotifyVersion = Setting(
        optional: "update.android-notify",
        .version,
        "Android apps below this version notify their user of an update."
    )
    package static let iosMinimumVersion = Setting(
        optional: "update.ios-minimum",
        .version,
        "Lowest supported version of the iOS app. Older ones may call only Hello, RevokeWithCode, OpenSession and "
            + "ReportWipe."
    )
    package static let iosNotifyVersion = Setting(
        optional: "update.ios-notify",
        .version,
        "iOS apps below this version notify their user of an update."
    )
    package static let logLevel = Setting(
        "log.level",
        .choice,
        standard: LogLevelSetting.info,
        isLive: true,
        "Lowest level of the lines that are logged."
    )
    package static let logFormat = Setting(
        "log.format",
        .choice,
        standard: LogFormatSetting.text,
        "Form of each event in the log: a line of text or a JSON object."
    )
    package static let logFile = Setting(
        optional: "log.file",
        .path,
        "File to which the log is appended; without a file it goes to standard error."
    )
    package static let labFolder = Setting(
        optional: "lab.folder",
        .path,
        "The lab's folder, created by `remote-pin-server init --lab`. Never set it in production: a lab's clock can be "
            + "changed."
    )
}

extension Kind where Value == AppVersion {
    static var version: Kind {
        .word("version", "one to four numbers, such as 1.4.0", read: { AppVersion($0) }, write: { "\($0)" })
    }
}

extension Kind where Value == String {
    /// An operating system group.
    ///
    /// Whether it exists is checked when it is used.
    static var group: Kind {
        .text("group", "a group of the operating system, by name or number") { text in
            let isName = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3A }
            return isName && (1...32).contains(text.utf8.count) && text != "none"
        }
    }
}

// Settings for the wallet database, which is either embedded or PostgreSQL.
extension SettingTable {
    static let store: [any SettingDeclaration] = [
        Self.storeKind, Self.storeAddress, Self.storeService, Self.storeServiceFile, Self.storePasswordFile,
        Self.storeTLS, Self.storeTimeLimit, Self.storeScanLimit, Self.clusterName, Self.clusterServer,
        Self.clusterLease, Self.durability,
    ]

    package static let storeKind = Setting(
        "store.kind",
        .choice,
        standard: StoreKindSetting.sqlite,
        "Database of wallets: `sqlite` is embedded, in `data.folder`, for one server. `postgresql` is a database that "
            + "several servers share (docs/cluster.md); it needs `store.address` or `store.service`."
    )
    package static let storeAddress = Setting(
        optional: "store.address",
        Kind<String>.text("URI or words", "a connection URI or a string of keywords and values, as libpq reads them") {
            !$0.isEmpty && $0 != "none" && $0.utf8.count <= 4096 && !$0.utf8.contains(0)
        }
        .hiding { Self.mayContainPassword($0) },
        "Address of the PostgreSQL database, without its password. It is a URI such as "
            + "postgresql://remote_pin@db1,db2,db3/remote_pin, or a string of keywords and values. The server uses the "
            + "host that accepts writes."
    )
    package static let storeService = Setting(
        optional: "store.service",
        .text("name", "the name of a section in `store.service-file`") {
            (1...63).contains($0.utf8.count) && $0 != "none" && !$0.contains { $0.isNewline || $0 == "]" }
        },
        "Section of `store.service-file` with the address, instead of `store.address`."
    )
    package static let storeServiceFile = Setting(
        optional: "store.service-file",
        .path,
        "libpq's connection service file, which has the addresses of databases by name."
    )
    package static let storePasswordFile = Setting(
        optional: "store.password-file",
        .path,
        "File that contains only the database's password, in visible ASCII characters without blanks. The server "
            + "rejects a file that other users can read."
    )
    package static let storeTLS = Setting(
        "store.tls",
        .choice,
        standard: StoreTLSSetting.verifyFull,
        "Security of connections to another machine. `verify-full` requires TLS and a certificate for the host's name; "
            + "the address names its authority in sslrootcert. With `address` the address decides: only for a "
            + "network that is protected otherwise."
    )
    package static let storeTimeLimit = Setting(
        "store.time-limit",
        .duration(.milliseconds(200) ... .seconds(60)),
        standard: .seconds(5),
        "Longest time for a statement of PostgreSQL, with its wait for a standby. Afterwards the server closes the "
            + "connection, and clients repeat their calls."
    )
    package static let storeScanLimit = Setting(
        "store.scan-limit",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(600),
        "Longest time for a statement of PostgreSQL that reads every wallet, such as a count."
    )
    package static let clusterName = Setting(
        optional: "cluster.name",
        .text("name", "a name, 1 to 63 letters, digits, dots and hyphens") { Self.isServerName($0) },
        "Name of the cluster, part of the policy that the database keeps (`store init`, `store policy set`). A server "
            + "with another name, or with none, does not start on it, so that it cannot serve the wallets of another "
            + "cluster whose address it was given by mistake."
    )
    package static let clusterServer = Setting(
        optional: "cluster.server",
        .text("name", "a name, 1 to 63 letters, digits, dots and hyphens") { Self.isServerName($0) },
        "Name of this server, unique among those of the database and the same after a restart: the database keeps the "
            + "newest entry of each server's audit log under it. With none, the name of the machine."
    )
    package static let clusterLease = Setting(
        "cluster.lease",
        .duration(.seconds(6) ... .seconds(60)),
        standard: .seconds(6),
        "Time that this server's lease on a PostgreSQL store lasts. The server renews it each second. If it cannot do "
            + "that for two thirds of this time, it judges no PIN and releases no share until it can, and cuts off "
            + "what it has sent in the last third. A revocation waits for a server that has died until its lease has "
            + "ended."
    )
    package static let durability = Setting(
        "cluster.durability",
        .choice,
        standard: DurabilitySetting.replicated,
        "Losses that a committed change in PostgreSQL must survive. With `replicated`, the server serves only while "
            + "each commit waits for a standby that `synchronous_standby_names` names. With `local`, one machine is "
            + "enough: if it is lost, so are counted attempts and revocations."
    )
}

extension SettingTable {
    fileprivate static func isServerName(_ name: String) -> Bool {
        (1...63).contains(name.utf8.count) && name != "none"
            && name.utf8.allSatisfy { byte in
                let character = Character(UnicodeScalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || ".-".contains(character))
            }
    }

    /// Returns whether a database's address may contain a password, however it is written.
    ///
    /// Threat: the server rejects such an address, but `config show` and messages about it would print the password.
    private static func mayContainPassword(_ address: String) -> Bool {
        // Keywords in a URI may be percent-encoded. libpq's keywords for passwords are `password` and `sslpassword`.
        guard let decoded = address.removingPercentEncoding, !decoded.lowercased().contains("pass") else { return true }
        // In a URI the password follows the user's name; if it is not encoded, it may contain any character.
        guard let scheme = decoded.range(of: "://") else {
            return decoded.lastIndex(of: "@").map { decoded[..<$0].contains(":") } ?? false
        }
        let rest = decoded[scheme.upperBound...]
        if let at = rest.lastIndex(of: "@") { return rest[..<at].contains(":") }
        // Without a host, a user's name and password look like a host and its port.
        return rest.prefix { !"/?".contains($0) }.split(separator: ",").contains { host in
            let end = host.split(separator: "]").last ?? ""
            return end.lastIndex(of: ":").map { !end[end.index(after: $0)...].allSatisfy(\.isNumber) } ?? false
        }
    }
}

extension ServerSettings {
    /// The name of this server among those of the database: `cluster.server`, or else the name of the machine.
    ///
    /// The machine's name must satisfy the same rule, because files that contain the name separate words by spaces.
    ///
    /// Returns nil if the machine's name is needed but does not satisfy the rule.
    package func serverName(ofMachine machine: String) -> String? {
        self[SettingTable.clusterServer] ?? (SettingTable.isServerName(machine) ? machine : nil)
    }
}

/// The kind of wallet database.
package enum StoreKindSetting: String, Hashable, Sendable, CaseIterable {
    case sqlite
    case postgreSQL = "postgresql"
}

/// The security of connections to a database on another machine.
package enum StoreTLSSetting: String, Hashable, Sendable, CaseIterable {
    case verifyFull = "verify-full"
    case address
}

/// The failures that a committed change must survive.
package enum DurabilitySetting: String, Hashable, Sendable, CaseIterable {
    case replicated
    case local
}
