internal import HostSystem
internal import ServerCommandLine
internal import ServerSettings

/// The check that no other user of the machine can change the server's data.
///
/// Threat: a user without rights on the server edits attempt counts, replaces the database by an older copy, or
/// shortens the audit log. The permissions of these files are the only boundary against that.
enum FileRights {
    /// The permission to write for users other than the owner and the group.
    ///
    /// Group permissions are left to the operator: container platforms set them on every volume.
    private static let othersWrite: UInt32 = 0o002
    /// In a folder with this bit, users can rename and remove only their own files.
    private static let sticky: UInt32 = 0o1000

    /// Rejects files and folders that every user may change; missing ones are left to the steps that open them.
    static func check(_ settings: ServerSettings) throws {
        let data = settings[SettingTable.dataFolder]
        let (audit, key) = (settings[SettingTable.auditFile], settings[SettingTable.vaultKeyFile])
        var problems: [String] = []
        for (setting, path) in [
            ("data.folder", data), ("data.folder", "\(data)/wallets.db"), ("data.folder", "\(data)/wallets.db-wal"),
            ("data.folder", "\(data)/wallets.db-mark"), ("audit.file", audit), ("vault.key-file", key),
        ] {
            problems += self.problem(setting, path, allowing: 0)
        }
        for (setting, path) in [("audit.file", audit), ("vault.key-file", key)] {
            problems += self.problem(setting, ConfigurationOptions.folder(of: path), allowing: self.sticky)
        }
        guard problems.isEmpty else { throw StartFailure(.configuration, problems.joined(separator: "\n")) }
    }

    private static func problem(_ setting: String, _ path: String, allowing harmless: UInt32) -> [String] {
        guard let mode = try? DurableFile.mode(of: path), mode & self.othersWrite != 0, mode & harmless == 0 else {
            return []
        }
        let digits = String(mode, radix: 8)
        return [
            "`\(setting)`: \(path) has mode 0\(digits), so every user of this machine can change it: "
                + "check for changes, then run chmod o-w \(path)"
        ]
    }
}
