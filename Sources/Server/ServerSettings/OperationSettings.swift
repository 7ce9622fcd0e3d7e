package import ConfigText
internal import Foundation

// Settings for shutdown, notifications, monitoring and maintenance.
extension SettingTable {
    static let stopping: [any SettingDeclaration] = [Self.drainLimit, Self.drainDelay]
    static let hooks: [any SettingDeclaration] = [
        Self.hookProgram, Self.hookArguments, Self.hookSocket, Self.hookQueue,
    ]
    static let observation: [any SettingDeclaration] = [Self.observationListen]
    static let maintenance: [any SettingDeclaration] = [Self.clockTolerance, Self.purgeAfter]
    static let witness: [any SettingDeclaration] = [
        Self.witnessProgram, Self.witnessArguments, Self.witnessSocket, Self.witnessRequired, Self.witnessInterval,
    ]

    /// An argument for a program.
    private static let argument: Kind<String> = .text("text", "1 to 4096 bytes without zero bytes") {
        1...4096 ~= $0.utf8.count && !$0.utf8.contains(0)
    }

    package static let clockTolerance = Setting(
        "clock.tolerance",
        .optional(.duration(.seconds(3600) ... .seconds(3650 * 86_400))),
        standard: .some(.seconds(86_400)),
        "Largest difference at the start between the system's clock and the newest time in the server's files: "
            + "database, audit log and status list. With a larger one the server does not start: the clock is wrong, "
            + "or the server was stopped for longer. With none, or in a lab, nothing is compared."
    )
    package static let purgeAfter = Setting(
        "purge.after",
        .optional(.duration(.seconds(86_400) ... .seconds(3650 * 86_400))),
        standard: .some(.seconds(365 * 86_400)),
        "Time after which a revoked or wiped wallet is removed. Until then a phone that was switched off still learns "
            + "that its wallet was revoked. After a year few phones return, and the attested facts need not be kept. "
            + "The wallet's deletion code still reports success, and the deny list stays. With none no wallet is "
            + "removed."
    )
    package static let witnessProgram = Setting(
        optional: "witness.program",
        .path,
        "Program that the server starts without a shell for each request to the witness (docs/witness.md)."
    )
    package static let witnessArguments = Setting(
        "witness.arguments",
        .list(of: Self.argument),
        standard: [],
        isSecret: true,
        "The program's arguments. Every process of the machine can read them; the server never prints them."
    )
    package static let witnessSocket = Setting(
        optional: "witness.socket",
        .path,
        "Unix-domain socket of a witness, at most 100 bytes long, instead of `witness.program`."
    )
    package static let witnessRequired = Setting(
        "witness.required",
        .flag,
        standard: true,
        "Whether a witness that gives no answer prevents the start. It never stops a running server."
    )
    package static let witnessInterval = Setting(
        "witness.interval",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(1),
        "Shortest time between two requests while the store changes. Use 1h for a TPM counter, which wears out."
    )
    package static let drainLimit = Setting(
        "drain.limit",
        .duration(.zero ... .seconds(600)),
        standard: .seconds(15),
        "Time after SIGTERM for calls in progress; then their connections are closed. The service manager's timeout "
            + "must be longer than this and `drain.delay` together."
    )
    package static let drainDelay = Setting(
        "drain.delay",
        .duration(.zero ... .seconds(300)),
        standard: .zero,
        "Time after SIGTERM during which the server still accepts connections, although it reports at once that it is "
            + "not ready. Set it to the time that a load balancer needs to notice."
    )
    package static let hookProgram = Setting(
        optional: "hook.program",
        .path,
        isLive: true,
        "Program that the server starts without a shell and keeps running. It gets one line per event on standard "
            + "input."
    )
    package static let hookArguments = Setting(
        "hook.arguments",
        .list(of: Self.argument),
        standard: [],
        isSecret: true,
        isLive: true,
        "The program's arguments. Every process of the machine can read them, so pass secrets in a file. The server "
            + "never prints them."
    )
    package static let hookSocket = Setting(
        optional: "hook.socket",
        .path,
        isLive: true,
        "Unix-domain socket of a program that listens for the same lines, at most 100 bytes long. It can be combined "
            + "with `hook.program`."
    )
    package static let hookQueue = Setting(
        "hook.queue",
        .number(1...1_000_000),
        standard: 4096,
        isLive: true,
        "Number of lines that are queued for a receiver that is slow or absent. Further lines are dropped, counted and "
            + "logged."
    )
    package static let observationListen = Setting(
        "observation.listen",
        .optional(.address("127.0.0.1:9464 or [::1]:9464")),
        standard: .some(HostAndPort(host: "127.0.0.1", port: 9464)),
        "Address and port of the plain HTTP listener for `/metrics`, `/livez` and `/readyz`. Keep it private: it "
            + "reveals no secrets, but shows the server's load. Port 0 chooses a free port; with none the listener is "
            + "off."
    )
}

// Settings for the deletion portal: the server's socket for it, and the portal program itself.
extension SettingTable {
    static let portal: [any SettingDeclaration] = [
        Self.portalSocket, Self.portalGroup, Self.portalListen, Self.portalTrustedProxies, Self.portalProduct,
        Self.portalTimeZone, Self.portalHelpLink, Self.portalObservation,
    ]

    package static let portalSocket = Setting(
        optional: "portal.socket",
        .path,
        "Unix-domain socket through which the deletion portal calls the server, at most 100 bytes long. It accepts "
            + "only deletion codes. With none the server does not create it."
    )
    package static let portalGroup = Setting(
        optional: "portal.group",
        .group,
        "Group that may open the portal's socket (mode 0660), so that the portal can run as a separate user. With none "
            + "only the server's user may (0600)."
    )
    package static let portalListen = Setting(
        "portal.listen",
        .address("127.0.0.1:7480"),
        standard: HostAndPort(host: "127.0.0.1", port: 7480),
        "Address and port of the portal's plain HTTP listener, for a reverse proxy that adds TLS. Port 0 chooses a "
            + "free port."
    )
    package static let portalObservation = Setting(
        optional: "portal.observation",
        .address("127.0.0.1:9465"),
        "Address and port of the portal's plain HTTP listener for `/metrics`, `/livez` and `/readyz`. Keep it private."
    )
    package static let portalTrustedProxies = Setting(
        "portal.trusted-proxies",
        .list(of: .network),
        standard: [AddressRange.loopback4, AddressRange.loopback6],
        "Reverse proxies whose X-Forwarded-For header is trusted. The client's address is the last one in the header "
            + "that is not in this list; if the connection is from another address, it is that address."
    )
    package static let portalProduct = Setting(
        "portal.product",
        .text("text", "1 to 60 characters") { text in
            (1...60).contains(text.count)
                && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        },
        standard: "NL Wallet",
        "Name of the app on the page."
    )
    package static let portalTimeZone = Setting(
        "portal.time-zone",
        .text("time zone", "a name of the time zone database, such as Europe/Amsterdam or UTC") {
            TimeZone(identifier: $0) != nil
        },
        standard: "Europe/Amsterdam",
        "Time zone of the times on the page, which names it."
    )
    package static let portalHelpLink = Setting(
        optional: "portal.help-link",
        .text("address", "an https address of at most 200 bytes") { text in
            let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            return text.hasPrefix("https://") && (9...200).contains(text.utf8.count) && isPlain
        },
        "Link on the page for users who need help."
    )
}
