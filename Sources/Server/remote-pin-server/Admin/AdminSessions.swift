internal import ArgumentParser
internal import Vocabulary
internal import Wire

/// Sessions that are open now.
struct AdminSessions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "List the sessions that are open: wallet, source, since when, instructions, version of the app.",
        discussion: """
            The connection's number stands in the log beside everything that concerns it. What the app says of its version \
            is its own claim.

              remote-pin-server admin sessions --lab /tmp/lab
              remote-pin-server admin sessions --json --lab /tmp/lab | jq '.sessions | length'
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            let sessions = try await self.server.connected { call in
                var sessions: [OpenSessionReport] = []
                while true {
                    let command = Wire.AdminCommand.listSessions(
                        after: sessions.last?.connection,
                        limit: Wire.AdminCommand.mostListed
                    )
                    guard case .sessionPage(let page) = try await call(command) else {
                        throw StartFailure.unexpectedAnswer
                    }
                    sessions += page.sessions
                    if !page.hasMore || page.sessions.isEmpty { return sessions }
                }
            }
            self.output.print(SessionsJSON(sessions: sessions.map(SessionsJSON.Session.init))) { page in
                if sessions.isEmpty { return page.line("no session is open") }
                page.table(
                    ["CONNECTION", "WALLET", "SOURCE", "SINCE", "INSTRUCTIONS", "APP"],
                    sessions.map(\.cells)
                )
            }
        }
    }
}

extension OpenSessionReport {
    fileprivate var cells: [String] {
        [
            "\(self.connection)", "\(self.walletID)", self.source, self.since.text, "\(self.instructions)",
            "\(self.platform.rawValue) \(self.appVersion)",
        ]
    }
}

private struct SessionsJSON: Encodable {
    let sessions: [Session]

    struct Session: Encodable {
        let connection: UInt64
        let wallet: String
        let source: String
        let since: String
        let instructions: Int
        let platform: String
        let appVersion: String

        init(_ session: OpenSessionReport) {
            self.connection = session.connection
            self.wallet = "\(session.walletID)"
            self.source = session.source
            self.since = session.since.text
            self.instructions = session.instructions
            self.platform = session.platform.rawValue
            self.appVersion = "\(session.appVersion)"
        }
    }
}
