internal import ArgumentParser
internal import ConfigText
internal import DeletionPortal
internal import Foundation
internal import HostSystem
internal import LabFiles
internal import Telemetry
internal import Logging
internal import ServerSettings
internal import MetricsEndpoint

/// The deletion portal program.
@main
struct Program {
    static func main() async {
        CoreDumps.forbid()
        StandardStreams.prepare(statusOfLostOutput: 74)
        await PortalProgram.main(SettingFlags.rewritten(Array(CommandLine.arguments.dropFirst())))
    }
}

/// Serves the page until stopped by a signal.
struct PortalProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote-pin-portal",
        abstract: "Serve the page on which users delete their wallet with their deletion code.",
        discussion: """
            A separate process without access to the server's data: it passes codes to a running server over the \
            socket that `portal.socket` names there. It speaks plain HTTP; run it behind a proxy that speaks TLS.

            With --check it serves nothing; it shows the values with their sources and reports every problem:

              sudo -u remote-pin-portal remote-pin-portal --check \\
                --config /etc/remote-pin/portal.yaml

            With the server's configuration, or a lab's:

              remote-pin-portal /srv/remote-pin
              remote-pin-portal --config /etc/remote-pin/server.yaml
              remote-pin-portal /tmp/lab

            Without it, as a user that cannot read it (the server's `portal.group` names one of that user's groups):

              remote-pin-portal --portal.socket /run/remote-pin-portal/portal.sock \\
                --portal.listen 127.0.0.1:7480

            Only the settings below are used. The log goes to standard error, because `log.file` is the server's. \
            Writes one line that begins with `ready` to standard output when clients can connect. SIGTERM and SIGINT \
            stop it after pending answers are sent.

            The settings; in the environment, --portal.listen is REMOTE_PIN_PORTAL_LISTEN:

            \(ConfigurationFile.help(where: Self.isUsed))
            """,
        version: BuildID.text(of: "remote-pin-portal")
    )

    private static let sections: Set<String> = ["portal", "log"]

    /// Returns whether the portal uses a setting.
    ///
    /// It does not use the log file, because two programs writing to the same file would overwrite each other's lines.
    private static func isUsed(_ setting: any SettingDeclaration) -> Bool {
        self.sections.contains(setting.section) && setting.name != SettingTable.logFile.name
    }

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
        completion: .list(SettingTable.all.filter(Self.isUsed).map { "\($0.name)=" })
    )
    var assignments: [String] = []

    @Flag(help: "Check the configuration, show each value with its source, and end; status 78 if it is wrong.")
    var check = false

    func run() async throws {
        do {
            let settings = try self.settings()
            if self.check { return try Self.explain(settings) }
            // A service must not wait until something reads its output.
            StandardStreams.queueAll()
            let output = try LogOutput(path: nil)
            let handler = output.handler(
                settings[SettingTable.logFormat],
                level: Logger.Level(settings[SettingTable.logLevel])
            )
            let log = Logger(label: "remote-pin-portal") { _ in handler }
            let manager = ServiceManager(environment: ProcessInfo.processInfo.environment)
            let watch = PortalWatch(output: output, log: log)
            let portal = try PortalServer(settings, clock: SystemClock(), log: log, metrics: watch.registry)
            let listener = try await Self.listen(watch, settings, log)
            ProcessEnd.limitStop(to: PortalServer.farewell + .seconds(5)) { signal in
                log.warning("ending at once", metadata: ["reason": "a second signal", "signal": "\(signal)"])
            }
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { await watch.follow { await portal.reachesServer() } }
                try await portal.run { address in
                    log.notice("ready", metadata: ["address": "\(address)"])
                    StandardStreams.writeOutput("ready on http://\(address)\n")
                    manager?.tell(.ready, .status("serving the page on http://\(address)"))
                }
                tasks.cancelAll()
            }
            await listener?.close()
            log.notice("stopped")
        } catch let error as PortalStartError {
            throw Self.end(error)
        } catch let error as ConfigError {
            throw Self.end(78, "the configuration is not used:\n\(error)")
        } catch let error as FileError {
            throw Self.end(74, "\(error)")
        }
    }

    /// Listens for monitoring; returns nil if it is not configured.
    private static func listen(
        _ watch: PortalWatch,
        _ settings: ServerSettings,
        _ log: Logger
    ) async throws -> ObservationListener? {
        var address = settings[SettingTable.portalObservation]
        do throws(ObservationListenError) {
            let listener = try await watch.listen(address)
            if let listener {
                address?.port = listener.port
                log.notice("observed", metadata: ["address": "\(address.map { "\($0)" } ?? "")"])
            }
            return listener
        } catch {
            let place = address.map { "\($0)" } ?? ""
            throw Self.end(69, "`portal.observation`: cannot listen on \(place): \(error.reason)")
        }
    }

    /// Prints the effective settings, after making every check that is possible without listening.
    private static func explain(_ settings: ServerSettings) throws {
        _ = try PortalServer(
            settings,
            clock: SystemClock(),
            log: Logger(label: "check") { _ in SwiftLogNoOpLogHandler() }
        )
        let used = Set(SettingTable.all.filter(Self.isUsed).map(\.name))
        for row in settings.rows where used.contains(row.name) {
            let origin = row.origin.map { " (\($0))" } ?? ""
            StandardStreams.writeOutput("\(row.name): \(row.value ?? "none")\(origin)\n")
        }
        if let socket = settings[SettingTable.portalSocket], !DurableFile.exists(socket) {
            StandardStreams.writeOutput("\n\(socket) is missing, or this user cannot see it; the server creates it\n")
        }
        StandardStreams.writeOutput("\nthe configuration is good\n")
    }

    private func settings() throws -> ServerSettings {
        let path = try self.path()
        let file = try path.map { path in
            ConfigFile(
                path: path,
                folder: URL(fileURLWithPath: path).deletingLastPathComponent().path,
                text: try DurableFile.readText(path, atMost: 1 << 20)
            )
        }
        let flags = try self.assignments.map { assignment in
            guard let equals = assignment.firstIndex(of: "=") else {
                throw ValidationError("--set takes NAME=VALUE, not `\(assignment)`.")
            }
            return (name: String(assignment[..<equals]), value: String(assignment[assignment.index(after: equals)...]))
        }
        return try ServerSettings(
            file: file,
            environment: ProcessInfo.processInfo.environment,
            flags: flags,
            currentFolder: FileManager.default.currentDirectoryPath,
            sections: Self.sections
        )
    }

    /// Returns the path of the configuration, or nil if none was given.
    private func path() throws -> String? {
        guard self.folder == nil || self.config == nil else {
            throw ValidationError("Name a folder or a file with --config, not both.")
        }
        if let config { return URL(fileURLWithPath: config).standardizedFileURL.path }
        guard let folder else { return nil }
        let path = URL(fileURLWithPath: folder).standardizedFileURL.path
        return LabFolder(path).isLab ? LabFolder(path).configurationFile : "\(path)/server.yaml"
    }

    /// Reports an error and how to fix it.
    ///
    /// The exit statuses are those of `remote-pin-server`.
    private static func end(_ error: PortalStartError) -> ExitCode {
        switch error {
        case .noSocket:
            return self.end(
                78,
                "`portal.socket` is not set: set it in the server's configuration and restart the server, then name "
                    + "that configuration here, or the socket with --portal.socket PATH"
            )
        case .timeZone: return self.end(78, "`portal.time-zone`: this system does not have that time zone; try UTC")
        case .listening(let address, let errno):
            let reason =
                switch errno {
                case EADDRINUSE: "another process listens there; name another port with --portal.listen"
                case EACCES: "this user has no permission; use a port above 1023 and let the proxy listen on 443"
                default: ListenAddress.reason(errno)
                }
            return self.end(69, "`portal.listen`: cannot listen on \(address): \(reason)")
        }
    }

    private static func end(_ status: Int32, _ text: String) -> ExitCode {
        StandardStreams.writeError("remote-pin-portal: \(text)\n")
        return ExitCode(status)
    }
}
