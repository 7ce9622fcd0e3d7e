internal import ArgumentParser
internal import ServerSettings
internal import ConfigText
internal import Vocabulary
internal import Wire

/// A lab's time.
struct AdminClock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock",
        abstract: "Move a lab's clock.",
        subcommands: [Advance.self]
    )

    /// Moves a lab's clock forward.
    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "advance",
            abstract: "Move a lab's clock forward; it never goes back.",
            discussion: """
                Returns once everything that the new time makes due has happened, and prints the new time.

                  remote-pin-server admin clock advance 61s --lab /tmp/lab
                """
        )

        @Argument(help: ArgumentHelp("How far: 61s, 5m, 1h, 2d.", valueName: "duration"))
        var duration: String

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { _ = try self.parsed() }

        private func parsed() throws -> Duration {
            guard let duration = DurationText.read(self.duration), duration > .zero else {
                throw ValidationError("`\(self.duration)` is not a duration; write 250ms, 61s, 5m, 1h or 2d.")
            }
            guard duration <= Wire.AdminCommand.longestAdvance else {
                throw ValidationError("At most \(DurationText.write(Wire.AdminCommand.longestAdvance)) at a time.")
            }
            return duration
        }

        func run() async throws {
            let duration = try self.parsed()
            try await ending {
                guard case .clockAdvanced(let now) = try await self.server.call(.advanceClock(by: duration)) else {
                    throw StartFailure.unexpectedAnswer
                }
                self.output.print(ClockJSON(now: now.text)) { page in page.line("it is now \(now.text)") }
            }
        }
    }

    private struct ClockJSON: Encodable {
        let now: String
    }
}
