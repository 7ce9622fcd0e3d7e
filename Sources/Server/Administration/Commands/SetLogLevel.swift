package import ArgumentParser
internal import ServerSettings

/// `log-level`: shows the log level, or changes it until the server stops.
package struct SetLogLevel: AdminCall {
    package static let name = "log-level"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { self.level == nil ? .read : .change }
    package var role: AdminRole { self.level == nil ? .observer : .security }
    package var auditDetail: String? { self.level?.rawValue }

    /// The level to set, or nil to show the current level.
    package var level: LogLevel?

    package init(_ level: LogLevel?) { self.level = level }

    package struct Reply: Codable, Hashable, Sendable {
        package var level: LogLevel
        package var changed: Bool

        package init(level: LogLevel, changed: Bool) {
            self.level = level
            self.changed = changed
        }
    }

    package func run(in service: AdminService) async throws -> Reply { service.operations.logLevel(self.level) }

    package func auditResult(of reply: Reply) -> String { reply.level.rawValue }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "log-level",
            abstract: "Show or set the lowest level that is written to the log.",
            discussion: """
                The level applies until the server stops; then the setting log.level applies again. The marks of the \
                audit log are written at every level.

                  remote-pin-server admin log-level --lab /tmp/lab
                  remote-pin-server admin log-level debug --lab /tmp/lab
                """
        )

        @Argument(help: "The lowest level.")
        var level: LogLevel?

        @OptionGroup var options: CallOptions

        func call() -> SetLogLevel { SetLogLevel(self.level) }

        func draw(_ reply: Reply, on page: inout Page) {
            let isAsBefore = self.level != nil && !reply.changed
            page.line("the log's level is \(reply.level.rawValue)\(isAsBefore ? ", as it was before" : "")")
        }
    }
}

/// The minimum level of log messages.
package enum LogLevel: String, Codable, Hashable, Sendable, CaseIterable {
    case debug, info, notice, warning, error
}
