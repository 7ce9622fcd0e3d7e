internal import ArgumentParser
internal import Wire

/// Has the server read its files again.
struct AdminReload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Read certificate, vault keys, status list and what operators set again; the same as SIGHUP.",
        discussion: """
            Says of each part whether the new one is in use. Where one is bad, the old one stays and the exit status is 74. \
            Connections that exist go on.

              remote-pin-server admin reload --lab /tmp/lab
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            guard case .reloaded(let parts) = try await self.server.call(.reload) else {
                throw StartFailure.unexpectedAnswer
            }
            let json = ReloadJSON(
                parts: parts.map { ReloadJSON.Part(name: $0.name, reloaded: $0.problem == nil, reason: $0.problem) }
            )
            self.output.print(json) { page in
                let rows = parts.map { part in
                    [part.name, part.problem.map { page.bad("the old one stays: \($0)") } ?? page.good("reloaded")]
                }
                page.table(["PART", "STATE"], rows)
            }
            if parts.contains(where: { $0.problem != nil }) { throw ExitCode(StartFailure.Kind.files.rawValue) }
        }
    }

    private struct ReloadJSON: Encodable {
        let parts: [Part]

        struct Part: Encodable {
            let name: String
            let reloaded: Bool
            let reason: String?
        }
    }
}

/// How much is written to the log.
struct AdminLogLevel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show or set from which level on lines are written to the log.",
        discussion: """
            What is set holds until the server ends; then the setting log.level counts again. The audit \
            log's marks are written at every level.

              remote-pin-server admin log-level --lab /tmp/lab
              remote-pin-server admin log-level debug --lab /tmp/lab
            """
    )

    @Argument(
        help: ArgumentHelp("debug, info, notice, warning or error.", valueName: "level"),
        completion: .list(LogLevel.allCases.map(\.rawValue))
    )
    var level: String?

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try self.parsed() }

    private func parsed() throws -> LogLevel? {
        guard let level else { return nil }
        guard let known = LogLevel(rawValue: level) else {
            throw ValidationError("`\(level)` is no level; there are: debug, info, notice, warning, error.")
        }
        return known
    }

    func run() async throws {
        let wanted = try self.parsed()
        try await ending {
            guard case .logLevel(let level, let changed) = try await self.server.call(.setLogLevel(wanted)) else {
                throw StartFailure.unexpectedAnswer
            }
            self.output.print(LevelJSON(level: level.rawValue, changed: changed)) { page in
                page.line(
                    "the log's level is \(level.rawValue)\(wanted != nil && !changed ? ", as it was before" : "")"
                )
            }
        }
    }

    private struct LevelJSON: Encodable {
        let level: String
        let changed: Bool
    }
}
