internal import HostSystem
internal import ServerSettings

/// The rules for a store that is restored and served only as an exercise.
///
/// `restore --drill` marks the data folder, and only `serve --drill` serves a marked store, and no other one.
///
/// Threat (G7): a writer of the data folder marks the store of a service, so that its witness is no longer asked. The
/// service has no `--drill`, so it does not start.
enum Drill {
    /// The settings of a drill, which override all sources: production is told of nothing, and only this machine can
    /// connect.
    static let settings = [
        "witness.program=none", "witness.arguments=[]", "witness.socket=none", "hook.program=none",
        "hook.arguments=[]", "hook.socket=none", "audit.export=none", "observation.listen=none", "portal.socket=none",
        "proxy-protocol.from=[]", "listen.address=127.0.0.1:0",
    ]

    /// The next step of an operator who expected a store for wallets.
    static let wayOut = "to serve wallets, move the data folder away and restore the backup without --drill"

    static func isMarked(_ folder: String) -> Bool { DurableFile.exists(Self.mark(in: folder)) }

    private static func mark(in folder: String) -> String { "\(folder)/drill" }

    /// Marks the folder in which a restore is about to place a store, or removes the mark of an earlier drill.
    static func setMark(_ isDrill: Bool, in folder: String) throws {
        let mark = Self.mark(in: folder)
        if isDrill {
            try DurableFile.write(Array("the store of a drill, for `remote-pin-server serve --drill`\n".utf8), to: mark)
        } else if Self.isMarked(folder) {
            try DurableFile.remove(mark)
        }
    }

    /// Rejects the store of a drill for wallets, and any other store for a drill.
    static func check(_ settings: ServerSettings, isDrill: Bool) throws {
        let folder = settings[SettingTable.dataFolder]
        let isMarked = Self.isMarked(folder)
        guard isMarked != isDrill else { return }
        throw StartFailure(
            .operatorMustAct,
            isMarked
                ? "the store in \(folder) is the copy of a drill: serve it with --drill; \(Self.wayOut)"
                : "--drill serves only a store that `restore --drill` placed, and the one in \(folder) is not"
        )
    }
}
