internal import ConfigText
internal import HostSystem
internal import ServerCommandLine
internal import ServerSettings

/// The check that no other user of the machine can change the server's data.
///
/// Threat: a user without rights on the server edits attempt counts, replaces the database by an older copy, shortens
/// the audit log, or replaces a program that the server starts. The permissions of these files are the only boundary
/// against that.
enum FileRights {
    /// The permission to write for users other than the owner and the group.
    ///
    /// Group permissions are left to the operator: container platforms set them on every volume.
    private static let othersWrite: UInt32 = 0o002
    /// In a folder with this bit, users can rename and remove only their own files.
    private static let sticky: UInt32 = 0o1000

    /// Rejects files and folders that every user may change; missing ones are left to the steps that open them.
    static func check(_ settings: ServerSettings) throws {
        let problems = self.problems(settings)
        guard problems.isEmpty else {
            throw StartFailure(.configuration, problems.map(\.description).joined(separator: "\n"))
        }
    }

    /// The files and folders that every user may change.
    static func problems(_ settings: ServerSettings) -> [Problem] {
        let data = settings[SettingTable.dataFolder]
        let (audit, key) = (settings[SettingTable.auditFile], settings[SettingTable.vaultKeyFile])
        let programs = [SettingTable.hookProgram, SettingTable.witnessProgram].compactMap { setting in
            settings[setting].map { (setting.name, $0) }
        }
        var problems: [Problem] = []
        for (setting, path) in programs + [
            ("data.folder", data), ("data.folder", "\(data)/wallets.db"), ("data.folder", "\(data)/wallets.db-wal"),
            ("data.folder", "\(data)/wallets.db-mark"), ("audit.file", audit), ("vault.key-file", key),
        ] {
            problems += self.problem(setting, path, allowing: 0)
        }
        for (setting, path) in programs + [("audit.file", audit), ("vault.key-file", key)] {
            problems += self.problem(setting, ConfigurationOptions.folder(of: path), allowing: self.sticky)
        }
        return problems
    }

    /// The files of another user than the vault's key, whose owner is the server's user.
    ///
    /// A command that root ran leaves such files behind, and the server cannot open them.
    static func foreignFiles(_ settings: ServerSettings) -> [Problem] {
        let data = settings[SettingTable.dataFolder]
        guard let owner = try? DurableFile.owner(of: settings[SettingTable.vaultKeyFile]) else { return [] }
        let paths =
            [data] + ["wallets.db", "wallets.db-wal", "wallets.db-mark", "lock"].map { "\(data)/\($0)" }
            + [settings[SettingTable.auditFile], settings[SettingTable.tlsKey]]
        return paths.compactMap { path -> Problem? in
            guard let other = try? DurableFile.owner(of: path), other != owner else { return nil }
            func name(_ user: UInt32) -> String { Accounts.userName(of: user) ?? "#\(user)" }
            return Problem(
                "\(path) belongs to \(name(other)), and the vault's key to \(name(owner)), so the server cannot use it",
                cure: "run chown \(name(owner)) \(path)"
            )
        }
    }

    private static func problem(_ setting: String, _ path: String, allowing harmless: UInt32) -> [Problem] {
        guard let mode = try? DurableFile.mode(of: path), mode & self.othersWrite != 0, mode & harmless == 0 else {
            return []
        }
        let digits = String(mode, radix: 8)
        return [
            Problem(
                "`\(setting)`: \(path) has mode 0\(digits), so every user of this machine can change it",
                cure: "check for changes, then run chmod o-w \(path)"
            )
        ]
    }
}
