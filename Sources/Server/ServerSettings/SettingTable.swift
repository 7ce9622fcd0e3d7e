package import Vocabulary

/// Every setting of the server, in the order in which they are explained.
package enum SettingTable {
    /// What the environment variables of settings begin with.
    package static let environmentPrefix = "REMOTE_PIN_"

    /// Variables with that beginning which are not settings: the tests' and the wallet's own.
    static let foreignVariables = ["REMOTE_PIN_VECTORS", "REMOTE_PIN_HOME"]
    static let foreignPrefixes = ["REMOTE_PIN_WALLET_", "REMOTE_PIN_TEST_"]

    /// All of them.
    package static let all: [any SettingDeclaration] =
        Self.network + Self.proxyProtocol + Self.storage + Self.upkeep + Self.portal + Self.limits + Self.pin
        + Self.android + Self.iOS + Self.stopping + Self.hooks + Self.observation + Self.operation

    /// What each section of the file is about.
    static let groups: [(name: String, text: String)] = [
        ("listen", "Where wallets connect. TLS ends here: a load balancer must pass it through (layer 4)."),
        ("tls", "The server's certificate. Wallets pin its authority or its key."),
        ("proxy-protocol", "Balancers in front of the server that pass their clients' addresses on."),
        ("data", "Where wallets are kept."),
        ("vault", "The keys under which everything in the store is sealed."),
        ("purge", "When wallets that have ended are removed."),
        ("admin", "How operators speak to a running server."),
        ("audit", "What operators did and which wallets were revoked, so that nobody can take it back."),
        (
            "portal",
            "The page on which people type their deletion code; its program reads this section, `log.level` and `log.format`."
        ),
        (
            "limits",
            "How long a peer may take, in real time, how many connections there may be, and what one source may ask."
        ),
        ("session", "What happens between OpenSession and the connection's end."),
        ("enrollment", "From BeginEnrollment to the first session."),
        ("pin", "How many wrong PINs are allowed and what follows them."),
        ("features", "What the server offers to wallets."),
        ("android", "Which Android devices and apps may register."),
        ("ios", "Which iOS devices and apps may register."),
        ("update", "Which versions of the app are served."),
        ("observation", "What monitoring asks: metrics, and whether the server lives and is ready."),
        ("hook", "Who is told the moment a wallet is blocked or revoked: one JSON object a line (docs/hooks.md)."),
        ("drain", "How the server stops."),
        ("log", "What is written about the server's work. No secret, no PIN and no code is ever logged."),
        ("lab", "A server for tests, with a clock that can be moved and roots of its own."),
    ]

    static let network: [any SettingDeclaration] = [
        Self.listenAddress, Self.listenThreads, Self.tlsCertificate, Self.tlsKey,
    ]
    static let storage: [any SettingDeclaration] = [
        Self.dataFolder, Self.vaultKeyFile, Self.adminSocket, Self.adminGroup, Self.auditFile,
    ]
    static let limits: [any SettingDeclaration] = [
        Self.handshakeLimit, Self.frameLimit, Self.idleWithoutSession, Self.idleWithSession, Self.connections,
        Self.connectionsPerSource, Self.handshakes, Self.longFrames, Self.framesPerSource, Self.frameBurstPerSource,
        Self.enrollmentsPerSource, Self.enrollmentBurstPerSource, Self.sessionLifetime, Self.tokenLifetime,
        Self.unopenedLifetime,
    ]
    static let pin: [any SettingDeclaration] = [
        Self.rounds, Self.attemptsPerRound, Self.blocks, Self.deletionCode,
    ]
    static let operation: [any SettingDeclaration] = [
        Self.androidMinimumVersion, Self.androidNotifyVersion, Self.iosMinimumVersion, Self.iosNotifyVersion,
        Self.logLevel, Self.logFormat, Self.logFile, Self.labFolder,
    ]
}

extension SettingTable {
    package static let listenAddress = Setting(
        "listen.address",
        .one("address", "HOST:PORT, as 0.0.0.0:7400 or [::]:7400", read: { ListenAddress($0) }, show: { "\($0)" }),
        standard: ListenAddress(host: "127.0.0.1", port: 7400),
        "Address and port that wallets connect to. Port 0 takes a free one."
    )
    package static let listenThreads = Setting(
        "listen.threads",
        .number(0...256),
        standard: 0,
        "Threads that serve connections, 0 for as many as this machine has processors. One checks thousands of PINs a second."
    )
    package static let tlsCertificate = Setting(
        "tls.certificate",
        .path,
        standard: nil,
        "PEM file with the server's certificate and, behind it, those of its issuers. Read again on SIGHUP."
    )
    package static let tlsKey = Setting(
        "tls.key",
        .path,
        standard: nil,
        "PEM file with the certificate's private key; a file that others can read is refused."
    )
    package static let dataFolder = Setting(
        "data.folder",
        .path,
        standard: "data",
        "Folder of the embedded database. One server at a time can use it."
    )
    package static let vaultKeyFile = Setting(
        "vault.key-file",
        .path,
        standard: "vault.key",
        "File with the vault's keys, mode 0600. Whoever loses it loses every wallet; keep a copy apart from the database."
    )
    package static let adminSocket = Setting(
        "admin.socket",
        .path,
        standard: "admin.sock",
        "Unix-domain socket for the admin commands, at most 100 bytes long; who may open it may give every command."
    )
    package static let adminGroup = Setting(
        "admin.group",
        .optional(.group),
        standard: .some(nil),
        "Group whose members may open the socket too (mode 0660); without one only the server's own user may."
    )
    package static let auditFile = Setting(
        "audit.file",
        .path,
        standard: "audit.log",
        "File of the audit log, mode 0600. Keep it apart from the data folder: a restored store replays its revocations."
    )
    package static let handshakeLimit = Setting(
        "limits.handshake",
        .duration(.milliseconds(100) ... .seconds(300)),
        standard: .seconds(10),
        "A TLS handshake that takes longer ends the connection."
    )
    package static let frameLimit = Setting(
        "limits.frame",
        .duration(.milliseconds(100) ... .seconds(300)),
        standard: .seconds(10),
        "A frame that takes longer from its first to its last byte ends the connection, as does a peer that does not read."
    )
    package static let idleWithoutSession = Setting(
        "limits.idle-without-session",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(60),
        "A connection without a session on which no call was usefully answered for this long is closed."
    )
    package static let idleWithSession = Setting(
        "limits.idle-with-session",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(1800),
        "The same for a connection with a session."
    )
    package static let connections = Setting(
        "limits.connections",
        .number(1...1_000_000),
        standard: 10_000,
        "Connections at a time; any further one is closed as soon as it is accepted. Each needs a file descriptor."
    )
    package static let connectionsPerSource = Setting(
        "limits.connections-per-source",
        .number(0...1_000_000),
        standard: 2_500,
        "The same for one IPv4 address or one IPv6 network of 64 bits, 0 for no such limit. A mobile operator's phones share "
            + "addresses. Behind a load balancer all connections come from its few: have it say their sources (proxy-protocol), "
            + "or set 0 and limit sources in front of it."
    )
    package static let sessionLifetime = Setting(
        "session.lifetime",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(900),
        "A session ends at the latest after this long; the wallet then opens another one."
    )
    package static let tokenLifetime = Setting(
        "enrollment.token-lifetime",
        .duration(.seconds(1) ... .seconds(3600)),
        standard: .seconds(300),
        "An enrollment has to be finished within this time; attestation takes some seconds on a real phone."
    )
    package static let unopenedLifetime = Setting(
        "enrollment.unopened-lifetime",
        .duration(.seconds(60) ... .seconds(30 * 86_400)),
        standard: .seconds(86_400),
        "A registration that no session was opened for within this time is removed."
    )
}

extension SettingTable {
    package static let rounds = Setting(
        "pin.rounds",
        .number(AttemptPolicy.allowedRounds),
        standard: AttemptPolicy.standard.rounds,
        "Rounds of attempts; the end of the last one blocks a wallet for good."
    )
    package static let attemptsPerRound = Setting(
        "pin.attempts-per-round",
        .number(AttemptPolicy.allowedAttempts),
        standard: AttemptPolicy.standard.attemptsPerRound,
        "Wrong PINs in one round. At most rounds × attempts are judged between two right ones."
    )
    package static let blocks = Setting(
        "pin.blocks",
        .list(
            of: .duration(.zero...AttemptPolicy.longestBlock),
            allowed: "up to rounds − 1 durations of 0s … 31d, as [1m, 5m, 1h]"
        ),
        standard: AttemptPolicy.standard.blocks,
        "The block after each round but the last. Where there are fewer, the last one serves the further rounds."
    )
    package static let deletionCode = Setting(
        "features.deletion-code",
        .flag,
        standard: true,
        "Gives each new wallet a code with which its user can revoke it without the device."
    )
    package static let androidMinimumVersion = Setting(
        "update.android-minimum",
        .optional(.version),
        standard: .some(nil),
        "Android apps below this version are served nothing but Hello, RevokeWithCode, OpenSession and ReportWipe."
    )
    package static let androidNotifyVersion = Setting(
        "update.android-notify",
        .optional(.version),
        standard: .some(nil),
        "Android apps below this version tell their user that an update exists."
    )
    package static let iosMinimumVersion = Setting(
        "update.ios-minimum",
        .optional(.version),
        standard: .some(nil),
        "iOS apps below this version are served nothing but Hello, RevokeWithCode, OpenSession and ReportWipe."
    )
    package static let iosNotifyVersion = Setting(
        "update.ios-notify",
        .optional(.version),
        standard: .some(nil),
        "iOS apps below this version tell their user that an update exists."
    )
    package static let logLevel = Setting(
        "log.level",
        .choice,
        standard: LogLevelSetting.info,
        "Lines below this level are not written."
    )
    package static let logFormat = Setting(
        "log.format",
        .choice,
        standard: LogFormatSetting.text,
        "One line of text, or one JSON object, for each event."
    )
    package static let logFile = Setting(
        "log.file",
        .optional(.path),
        standard: .some(nil),
        "File that lines are appended to instead of standard error."
    )
    package static let labFolder = Setting(
        "lab.folder",
        .optional(.path),
        standard: .some(nil),
        "The lab's folder, made by `remote-pin-server init --lab`. Never set it in production: a lab's clock can be moved."
    )
}
