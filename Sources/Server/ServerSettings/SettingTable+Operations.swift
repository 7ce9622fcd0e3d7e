// How a server is stopped, and who is told of what happens to wallets.
extension SettingTable {
    static let stopping: [any SettingDeclaration] = [Self.drainLimit, Self.drainDelay]

    public static let drainLimit = Setting(
        "drain.limit",
        .duration(.zero ... .seconds(600)),
        standard: .seconds(15),
        "After SIGTERM calls that are being answered have this long; then their connections are cut. A service manager must "
            + "wait longer than this and drain.delay together."
    )
    public static let drainDelay = Setting(
        "drain.delay",
        .duration(.zero ... .seconds(300)),
        standard: .zero,
        "After SIGTERM the server says at once that it is not ready, and goes on taking connections for this long: as long as "
            + "a load balancer takes to notice."
    )
}
