internal import Administration
internal import AuditLog
internal import Foundation
internal import HostSystem
internal import LogLines
internal import Logging
internal import RemotePINServer
internal import ServerCommandLine
internal import Telemetry
internal import ServerSettings
internal import StoreMaintenance
internal import Transport
internal import Vault
internal import Vocabulary

extension RunningServer {
    /// Opens the audit log, creating it if it is missing; the mark of each newest entry goes to the server's log.
    static func openAudit(
        _ files: ServerFiles,
        epoch: Int,
        metrics: MetricRegistry,
        log: Logger
    ) async throws -> AuditLog {
        let path = files.settings[SettingTable.auditFile]
        // Logged at every level: without these marks a truncation of the audit log cannot be detected.
        var stream = log
        stream.logLevel = .notice
        let marks = stream
        let parts = AuditLog.Parts(
            path: path,
            vault: CountedVault(files.vault, metrics: metrics),
            clock: try Self.clock(of: files.lab),
            epoch: epoch,
            onNewest: { newest in
                marks.notice("audit log", metadata: ["newest": "\(newest)"])
            },
            onFatal: { reason in
                // A committed change has no record, so the server must do nothing more.
                log.critical("stopping at once", metadata: ["reason": "\(reason)"])
                exit(StartFailure.Kind.operatorMustAct.rawValue)
            }
        )
        let audit: AuditLog
        do throws(AuditLogError) {
            if !AuditLog.exists(at: path) {
                // A warning, so that the removal of an earlier log does not go unnoticed.
                log.warning("there is no audit log; a new one is begun", metadata: ["file": "\(path)"])
                try await AuditLog.create(parts)
            }
            audit = try await AuditLog.open(parts)
        } catch {
            throw StartFailure(error)
        }
        do throws(AuditLogError) {
            let unended = try await audit.endUnended()
            if unended > 0 { log.warning("commands were cut off by an earlier end", metadata: ["count": "\(unended)"]) }
        } catch {
            await audit.close()
            throw StartFailure(error)
        }
        return audit
    }

    /// The process-wide operations that operators' commands use.
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

    /// Reads certificate, key, vault key, status list and the operators' settings again, and reopens the log file.
    ///
    /// A part that cannot be read is reported, and its old value stays in use.
    static func reload(
        _ files: ServerFiles,
        of server: RemotePINServer,
        output: LogOutput,
        log: Logger
    ) async -> [ReloadedPart] {
        var parts: [ReloadedPart] = []
        if files.settings[SettingTable.logFile] != nil {
            var problem: String?
            do { try output.reopen() } catch { problem = "\(error.localizedDescription)" }
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
    /// The log level of a command's level.
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
    /// The nearest level of the admin protocol.
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
