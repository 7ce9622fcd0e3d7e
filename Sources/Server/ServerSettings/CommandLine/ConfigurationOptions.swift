internal import ArgumentParser
internal import ConfigText
internal import Foundation
internal import LabFiles
internal import HostSystem

/// Options that choose a configuration and override its settings.
package struct ConfigurationOptions: ParsableArguments {
    package init() {}

    @Argument(
        help: ArgumentHelp("A server's folder, which contains server.yaml, or a lab's folder.", valueName: "dir"),
        completion: .directory
    )
    var folder: String?

    @Option(help: ArgumentHelp("The configuration file.", valueName: "file"), completion: .file(extensions: ["yaml"]))
    var config: String?

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp("Sets one setting; the same as --NAME VALUE.", valueName: "name=value"),
        completion: .list(SettingTable.all.map { "\($0.name)=" })
    )
    var assignments: [String] = []

    /// Returns the path of the configuration: the given file, the one in the given folder, or `server.yaml` in the
    /// current folder.
    package func path() throws -> String {
        if let config, folder == nil { return Self.absolute(config) }
        guard self.config == nil else { throw ValidationError("Name a folder or a file with --config, not both.") }
        let folder = Self.absolute(self.folder ?? ".")
        let lab = LabFolder(folder)
        if lab.isLab { return lab.configurationFile }
        let path = "\(folder)/server.yaml"
        if self.folder == nil, !DurableFile.exists(path) {
            throw ValidationError("Which configuration? Name a server's folder, or a file with --config.")
        }
        return path
    }

    /// Loads all settings from a server's folder or from a configuration file, with these flags.
    package static func settings(
        of folder: String?,
        config: String? = nil,
        with flags: [String] = []
    ) throws -> LoadedSettings {
        var options = ConfigurationOptions()
        options.folder = folder
        options.config = config
        options.assignments = []
        return try options.settings(with: flags)
    }

    /// Loads all settings from all sources.
    ///
    /// - Parameter flags: Further settings, as `NAME=VALUE`. A user cannot set them, too.
    package func settings(with flags: [String] = []) throws -> LoadedSettings {
        try Self.settings(try self.path(), self.assignments + flags)
    }

    private static func settings(_ path: String, _ assignments: [String]) throws -> LoadedSettings {
        let report = SettingsReport(reading: try Self.sources(path, assignments))
        guard let settings = report.settings else {
            let error = ConfigError(problems: report.problems)
            throw StartFailure(.configuration, "the configuration is not used:\n\(error)")
        }
        return LoadedSettings(
            settings: settings,
            folder: Self.folder(of: path),
            again: { try Self.settings(path, assignments) }
        )
    }

    /// Returns a report on all settings, even if some of them are wrong.
    package func report() throws -> SettingsReport {
        SettingsReport(reading: try Self.sources(try self.path(), self.assignments))
    }

    private static func sources(_ path: String, _ assignments: [String]) throws -> SettingsSources {
        let text = try explaining(.configuration, "the configuration cannot be read") {
            let (bytes, mode) = try DurableFile.readWithMode(path, atMost: 1 << 20)
            // Rejected and not just reported, because the server runs the program named by `hook.program` in this file.
            guard mode & 0o002 == 0 else {
                throw StartFailure(
                    .configuration,
                    "\(path) has mode 0\(String(mode, radix: 8)), so every user of this machine can change it: "
                        + "check its contents, then run chmod o-w \(path)"
                )
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        let folder = Self.folder(of: path)
        let flags = try assignments.map { assignment in
            guard let equals = assignment.firstIndex(of: "=") else {
                throw ValidationError("--set takes NAME=VALUE, not `\(assignment)`.")
            }
            return (name: String(assignment[..<equals]), value: String(assignment[assignment.index(after: equals)...]))
        }
        return SettingsSources(
            file: ConfigFile(path: path, folder: folder, text: text),
            environment: ProcessInfo.processInfo.environment,
            flags: flags,
            currentFolder: FileManager.default.currentDirectoryPath
        )
    }

    /// Returns the absolute path.
    ///
    /// A relative path is resolved against the current folder.
    package static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }

    package static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
}

/// The values of a configuration and the folder that contains its file.
package struct LoadedSettings {
    package let settings: ServerSettings
    package let folder: String
    /// Reads the same sources again.
    package let again: @Sendable () throws -> LoadedSettings
}
