internal import ConfigText
internal import HostSystem
internal import ServerSettings
internal import WalletStore

/// Checks that no other user of the machine can change the server's data.
///
/// Threat: a user without rights on the server edits attempt counts, replaces the database with an older copy,
/// truncates the audit log, or replaces a program that the server starts. File permissions are the only protection
/// against this.
enum FileRights {
    /// Write permission for users other than the owner and the group.
    ///
    /// Group permissions are left to the operator, because container platforms set them on every volume.
    private static let othersWrite: UInt32 = 0o002
    /// In a folder with the sticky bit, users can rename and remove only their own files.
    private static let sticky: UInt32 = 0o1000

    /// Rejects files and folders that every user can change.
    ///
    /// Missing ones are reported later, by the code that opens them.
    static func check(_ settings: ServerSettings) throws {
        try self.checkLogFile(settings)
        let problems = self.problems(settings)
        guard problems.isEmpty else {
            throw StartFailure(.configuration, problems.map(\.description).joined(separator: "\n"))
        }
    }

    /// Rejects a log file that another setting names or the store uses, because the log is appended to it.
    static func checkLogFile(_ settings: ServerSettings) throws {
        guard let log = settings[SettingTable.logFile] else { return }
        let others = settings.rows.filter { $0.name != SettingTable.logFile.name }.compactMap(\.value)
        guard let path = (self.files(settings) + others).first(where: { self.isSame(log, as: $0) }) else { return }
        throw StartFailure(.configuration, "`log.file`: the server uses \(path) for other data; name another file")
    }

    /// Returns whether two paths lead to the same file, which may not exist yet.
    private static func isSame(_ path: String, as other: String) -> Bool {
        guard other.hasPrefix("/") else { return false }
        if path == other || DurableFile.isSame(path, as: other) { return true }
        let (folder, otherFolder) = (ConfigurationOptions.folder(of: path), ConfigurationOptions.folder(of: other))
        return path.split(separator: "/").last == other.split(separator: "/").last
            && DurableFile.isSame(folder, as: otherFolder)
    }

    /// The files that the server reads and writes, whether or not they exist.
    private static func files(_ settings: ServerSettings) -> [String] {
        let (data, key) = (settings[SettingTable.dataFolder], settings[SettingTable.vaultKeyFile])
        let audit = settings[SettingTable.auditFile]
        return [data]
            + ["wallets.db", "wallets.db-wal", "wallets.db-shm", "wallets.db-mark", "lock"].map { "\(data)/\($0)" }
            + [key, "\(key).lock", audit, "\(audit).lock"]
            + ["\(audit).verified", "\(audit).commits", MarkCopy.path(besideAuditLog: audit)]
            + [settings[SettingTable.tlsKey], settings[SettingTable.adminSocket]]
            + [settings[SettingTable.portalSocket]].compactMap(\.self)
    }

    /// Lists the files and folders that every user can change.
    static func problems(_ settings: ServerSettings) -> [Problem] {
        let data = settings[SettingTable.dataFolder]
        let (audit, key) = (settings[SettingTable.auditFile], settings[SettingTable.vaultKeyFile])
        let programs = [SettingTable.hookProgram, SettingTable.witnessProgram].compactMap { setting in
            settings[setting].map { (setting.name, $0) }
        }
        var problems: [Problem] = []
        for (setting, path) in programs + [
            ("data.folder", data), ("data.folder", "\(data)/wallets.db"), ("data.folder", "\(data)/wallets.db-wal"),
            ("data.folder", "\(data)/wallets.db-mark"), ("audit.file", audit),
            ("audit.file", MarkCopy.path(besideAuditLog: audit)), ("vault.key-file", key),
        ] {
            problems += self.problem(setting, path, allowing: 0)
        }
        for (setting, path) in programs + [("audit.file", audit), ("vault.key-file", key)] {
            problems += self.problem(setting, ConfigurationOptions.folder(of: path), allowing: self.sticky)
        }
        return problems
    }

    /// Lists files whose owner differs from the owner of the vault key, who is the server's user.
    ///
    /// A command run by root leaves such files behind, and the server then cannot open them.
    static func foreignFiles(_ settings: ServerSettings) -> [Problem] {
        let key = settings[SettingTable.vaultKeyFile]
        guard let owner = try? DurableFile.owner(of: key) else { return [] }
        return self.files(settings).compactMap { path -> Problem? in
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
