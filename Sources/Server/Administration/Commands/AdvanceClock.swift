package import AdminProtocol
package import ArgumentParser
internal import ConfigText
internal import Logging
internal import RemotePINServer
internal import ServerSettings
internal import StoreMaintenance
package import Vocabulary

/// `clock advance`: moves a lab's clock forward.
///
/// When the command returns, everything that was due by the new time has been done.
package struct AdvanceClock: AdminCall {
    package static let name = "clock advance"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }
    package var auditDetail: String? { "\(self.byMs) ms" }

    /// The duration in milliseconds, in the range `1...mostMs`.
    package var byMs: Int64

    /// Ten years.
    package static let mostMs: Int64 = 10 * 366 * 24 * 3600 * 1000

    package init(by duration: Duration) { self.byMs = duration.milliseconds }

    package struct Reply: Codable, Hashable, Sendable {
        package var now: Timestamp
    }

    package func validate() throws(AdminFailure) { try self.byMs.mustBe(in: 1...Self.mostMs, "byMs") }

    package func run(in service: AdminService) async throws -> Reply {
        guard let advance = service.advance else {
            throw AdminFailure(.notAllowed, "Only the clock of a lab can be moved, and this server is not one.")
        }
        let now = try advance(.milliseconds(self.byMs))
        service.server.log.notice("clock advanced", metadata: ["byMs": "\(self.byMs)"])
        await service.server.runDueTimers()
        await service.operations.maintenance.runDuePurge()
        return Reply(now: now)
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "advance",
            abstract: "Move a lab's clock forward; it cannot be moved back.",
            discussion: """
                Returns once everything that the new time makes due is done, and prints the new time.

                  remote-pin-server admin clock advance 61s --lab /tmp/lab
                """
        )

        @Argument(
            help: ArgumentHelp("The distance: 61s, 5m, 1h, 2d.", valueName: "duration"),
            transform: { text in
                guard let duration = DurationText.read(text), duration > .zero else {
                    throw ValidationError("`\(text)` is not a duration; write 250ms, 61s, 5m, 1h or 2d.")
                }
                guard duration <= .milliseconds(AdvanceClock.mostMs) else {
                    throw ValidationError(
                        "At most \(DurationText.write(.milliseconds(AdvanceClock.mostMs))) at a time."
                    )
                }
                return duration
            }
        )
        var duration: Duration

        @OptionGroup var options: CallOptions

        func call() -> AdvanceClock { AdvanceClock(by: self.duration) }

        func draw(_ reply: Reply, on page: inout Page) { page.line("it is now \(reply.now.text)") }
    }
}
