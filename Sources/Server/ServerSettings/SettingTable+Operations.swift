// How a server is stopped, and who is told of what happens to wallets.
extension SettingTable {
    static let stopping: [any SettingDeclaration] = [Self.drainLimit, Self.drainDelay]
    static let hooks: [any SettingDeclaration] = [
        Self.hookProgram, Self.hookArguments, Self.hookSocket, Self.hookQueue,
    ]

    package static let drainLimit = Setting(
        "drain.limit",
        .duration(.zero ... .seconds(600)),
        standard: .seconds(15),
        "After SIGTERM calls that are being answered have this long; then their connections are cut. A service manager must "
            + "wait longer than this and drain.delay together."
    )
    package static let drainDelay = Setting(
        "drain.delay",
        .duration(.zero ... .seconds(300)),
        standard: .zero,
        "After SIGTERM the server says at once that it is not ready, and goes on taking connections for this long: as long as "
            + "a load balancer takes to notice."
    )
    package static let hookProgram = Setting(
        "hook.program",
        .optional(.path),
        standard: .some(nil),
        "Program that is kept running, without a shell, and gets a line on its standard input for each event."
    )
    package static let hookArguments = Setting(
        "hook.arguments",
        .list(
            of: .one(
                "text",
                "1 to 4096 bytes without zero bytes",
                read: { (1...4096).contains($0.utf8.count) && !$0.utf8.contains(0) ? $0 : nil },
                show: { $0 }
            )
        ),
        standard: [],
        isSecret: true,
        "The program's arguments. Every process of the machine can read them, so name a file for a secret; this program never "
            + "shows them."
    )
    package static let hookSocket = Setting(
        "hook.socket",
        .optional(.path),
        standard: .some(nil),
        "Unix-domain socket of a program that listens, at most 100 bytes long; it gets the same lines. Both may be set."
    )
    package static let hookQueue = Setting(
        "hook.queue",
        .number(1...1_000_000),
        standard: 4096,
        "Lines that wait for a receiver which is slow or away; further ones are dropped, counted and logged."
    )
}
