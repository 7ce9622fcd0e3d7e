internal import Administration
internal import ConfigText
internal import EventHooks
internal import Foundation
internal import HostSystem
internal import LogLines
internal import Logging
internal import RemotePINServer
internal import ServerSettings
internal import StoreMaintenance
internal import Transport
internal import Vault
internal import Vocabulary

extension RunningServer {
    /// Creates the process-wide operations used by admin commands.
    static func operations(
        _ files: ServerFiles,
        _ maintenance: Maintenance,
        output: LogOutput,
        log: Logger,
        reload: @escaping @Sendable () async -> [ReloadedPart]
    ) -> ServerOperations {
        ServerOperations(
            version: BuildID.git.map { "\(Version.number) (git \($0))" } ?? Version.number,
            reload: reload,
            logLevel: { wanted in
                let before = LogLevel(output.level)
                if let wanted, wanted != before {
                    log.notice("log level set", metadata: ["level": "\(wanted.rawValue)"])
                    output.level = Logger.Level(wanted)
                }
                return SetLogLevel.Reply(
                    level: wanted ?? before,
                    changed: wanted.map { $0 != before } ?? false
                )
            },
            certificateExpiry: { files.tls.certificateExpiry },
            keyVersions: { (files.vault.versions, files.vault.activeVersion) },
            maintenance: maintenance
        )
    }

    /// Passes changed settings to the parts of the server that use them.
    ///
    /// Balancers are read from the settings in effect.
    static func apply(
        _ settings: ServerSettings,
        _ changed: [any SettingDeclaration],
        to server: RemotePINServer,
        _ listener: RPCListener,
        _ hooks: EventHooks,
        output: LogOutput
    ) {
        // Apply the level only if it has changed. Otherwise, reloading for a new certificate would undo `admin
        // log-level`.
        if changed.contains(where: { $0.name == SettingTable.logLevel.name }) {
            output.level = Logger.Level(settings[SettingTable.logLevel])
        }
        // Replace the receivers only if they have changed. Otherwise, each reload would restart the hook program.
        if changed.contains(where: { $0.section == "hook" }) {
            hooks.replace(with: Hooks.receivers(settings), capacity: settings[SettingTable.hookQueue])
        }
        server.use(SourceLimits(settings))
        listener.limit(connectionsPerSource: settings[SettingTable.connectionsPerSource])
    }

    /// Rereads the certificate, key, vault key, status list and configuration, and reopens the log file.
    ///
    /// If a part cannot be read, the problem is reported and the old value stays in use.
    static func reload(
        _ files: ServerFiles,
        of server: RemotePINServer,
        output: LogOutput,
        log: Logger
    ) async -> [ReloadedPart] {
        var parts: [ReloadedPart] = []
        if files.settings[SettingTable.logFile] != nil {
            var problem: String?
            do { try output.reopen() } catch { problem = "\(error)" }
            parts.append(ReloadedPart("log file", problem: problem))
        }
        do {
            try files.reloadTLS()
            log.notice("certificate reloaded")
            parts.append(ReloadedPart("certificate"))
        } catch {
            log.error("the old certificate stays", metadata: ["reason": "\(error)"])
            parts.append(ReloadedPart("certificate", problem: "\(error)"))
        }
        do throws(KeyFileError) {
            try files.vault.reload()
            parts.append(ReloadedPart("vault keys"))
        } catch {
            log.error("the old vault keys stay", metadata: ["reason": "\(error)"])
            parts.append(ReloadedPart("vault keys", problem: "\(error)"))
        }
        return parts + (await server.reload())
    }
}

extension Logger.Level {
    /// Converts an admin protocol log level.
    fileprivate init(_ level: LogLevel) {
        switch level {
        case .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        }
    }
}

extension LogLevel {
    /// Converts to the nearest log level in the admin protocol.
    fileprivate init(_ level: Logger.Level) {
        switch level {
        case .trace, .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error, .critical: self = .error
        }
    }
}
