internal import Logging
public import Vocabulary
public import Wire

/// What operators can have a running server do.
///
/// Who reaches it has been let in by the socket's file permissions; nothing here asks again.
public struct AdminCommands: Sendable {
    /// Moves a lab's clock and says the new time; why not, in a sentence, where it throws.
    public typealias Advance = @Sendable (Duration) throws(AdminFailure) -> Timestamp

    private let server: RemotePINServer
    /// Nil outside a lab, where no command moves time.
    private let advance: Advance?

    public init(of server: RemotePINServer, advance: Advance?) {
        self.server = server
        self.advance = advance
    }

    /// Does one command; what it started has happened when it returns.
    public func carryOut(_ command: AdminCommand) async -> AdminResult {
        do throws(AdminFailure) {
            switch command {
            case .advanceClock(let duration): return .clockAdvanced(now: try await self.advanceClock(by: duration))
            default:
                throw AdminFailure(.unsupported, "This server does not know the command; is it older than the program?")
            }
        } catch {
            self.server.log.notice("admin command refused", metadata: ["reason": "\(error.sentence)"])
            return .failed(error)
        }
    }

    private func advanceClock(by duration: Duration) async throws(AdminFailure) -> Timestamp {
        guard let advance else {
            throw AdminFailure(.notAllowed, "The clock of a server that is not a lab's cannot be moved.")
        }
        let now = try advance(duration)
        self.server.log.notice("clock advanced", metadata: ["byMs": "\(duration.milliseconds)"])
        await self.server.runDueTimers()
        return now
    }
}
