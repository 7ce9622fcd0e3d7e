internal import ArgumentParser
internal import Foundation
internal import Lab
internal import ServerSettings
internal import Spelling
internal import HostSystem
internal import Transport
internal import Vocabulary
internal import Wire

/// Speaks to a running server.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Give a running server a command, over its socket.",
        subcommands: [Clock.self]
    )

    /// A lab's time.
    struct Clock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clock",
            abstract: "Move a lab's clock.",
            subcommands: [Advance.self]
        )
    }

    /// Moves a lab's clock forward.
    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "advance",
            abstract: "Move a lab's clock forward; it never goes back.",
            discussion: "Returns once everything that the new time makes due has happened, and prints the new time."
        )

        @Argument(help: ArgumentHelp("How far: 61s, 5m, 1h, 2d.", valueName: "duration"))
        var duration: String

        @OptionGroup var server: ServerOptions

        func run() async throws {
            guard let duration = DurationText.read(self.duration), duration > .zero else {
                throw ValidationError("`\(self.duration)` is not a duration; write 250ms, 61s, 5m, 1h or 2d.")
            }
            guard duration <= AdminCommand.longestAdvance else {
                throw ValidationError("At most \(DurationText.write(AdminCommand.longestAdvance)) at a time.")
            }
            try await ending {
                guard case .clockAdvanced(let now) = try await self.server.call(.advanceClock(by: duration)) else {
                    throw StartFailure(.unavailable, "the server answered something else")
                }
                let date = Date(timeIntervalSince1970: Double(now.milliseconds) / 1000)
                let text = date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
                StandardStreams.writeOutput("it is now \(text)\n")
            }
        }
    }

    static let longestAdvance = Wire.AdminCommand.longestAdvance
}

/// Which server is meant.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A lab's folder.", valueName: "dir"), completion: .directory)
    var lab: String?

    @Option(
        help: ArgumentHelp("The server's configuration.", valueName: "file"),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Option(help: ArgumentHelp("The server's socket.", valueName: "path"), completion: .file())
    var socket: String?

    /// Time for a command, the largest of which ends many sessions.
    private static let patience: Duration = .seconds(60)

    private func path() throws -> String {
        if let socket, self.lab == nil, self.config == nil { return socket }
        guard self.socket == nil, self.lab == nil || self.config == nil else {
            throw ValidationError("Name one of --lab, --config and --socket.")
        }
        var options = ConfigurationOptions()
        options.folder = self.lab
        options.config = self.config
        options.assignments = []
        return try options.settings().settings[SettingTable.adminSocket]
    }

    /// Gives one command and returns its result.
    func call(_ command: Wire.AdminCommand) async throws -> AdminResult {
        let path = try self.path()
        let connection: AdminConnection
        do throws(ConnectError) {
            connection = try await AdminConnection.connect(path: path, timeout: .seconds(5))
        } catch {
            throw StartFailure(.unavailable, "no server answers on \(path); is it running?")
        }
        defer { connection.close() }
        let result: AdminResult
        do throws(CallError) {
            result = try await connection.call(command, timeout: Self.patience)
        } catch {
            throw StartFailure(.unavailable, "the server did not answer; whether the command was done is not known")
        }
        if case .failed(let failure) = result { throw StartFailure(.unavailable, failure.sentence) }
        return result
    }
}
