package import AdminProtocol
package import ArgumentParser
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary

/// `sessions`: lists the open sessions, sorted by connection.
package struct ListSessions: AdminCall {
    package static let name = "sessions"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .observer }

    /// The last connection of the previous page, or nil for the first page.
    package var after: UInt64?
    /// The maximum number of sessions, in the range `1...limits.upperBound`.
    package var limit = ListSessions.limits.upperBound

    /// The allowed page sizes.
    ///
    /// The largest page fits in a frame.
    package static let limits = 1...200

    package struct Reply: Codable, Sendable {
        package var sessions: [Session]
        /// Whether there are more sessions after this page.
        package var hasMore: Bool
        /// The server whose sessions these are, and all servers of the store; omitted for an embedded store.
        package var cluster: ClusterView?
    }

    package struct Session: Codable, Sendable {
        /// The connection number used in the log.
        package var connection: UInt64
        package var wallet: WalletID
        /// The IPv4 address or the IPv6 network.
        package var source: String
        package var since: Timestamp
        package var instructions: Int
        /// The platform claimed by the app.
        package var platform: Platform
        /// The version claimed by the app.
        package var appVersion: AppVersion

        fileprivate init(_ session: ListedSession) {
            self.connection = session.connection
            self.wallet = session.walletID
            self.source = "\(session.source)"
            self.since = session.since
            self.instructions = session.instructions
            self.platform = session.platform
            self.appVersion = session.appVersion
        }
    }

    package func validate() throws(AdminFailure) { try self.limit.mustBe(in: Self.limits, "limit") }

    package func run(in service: AdminService) async throws -> Reply {
        let (page, hasMore) = service.server.openSessions(after: self.after ?? 0, limit: self.limit)
        return Reply(sessions: page.map(Session.init), hasMore: hasMore, cluster: service.cluster)
    }

    package var page: ListPage? { self.after.map { ListPage(of: Self.name, after: "\($0)") } }

    package func page(after reply: Reply) -> ListPage? {
        guard reply.hasMore, let last = reply.sessions.last else { return nil }
        return ListPage(of: Self.name, after: "\(last.connection)")
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "sessions",
            abstract: "List the open sessions: wallet, source, start, instructions, version of the app.",
            discussion: """
                The log has the connection's number in each line about it. The version of the app is what the app \
                claims. With several servers on one store, the list is that of the server that is asked, after the \
                number of sessions at each; run the command on the machine of another one for its list.

                  remote-pin-server admin sessions --lab /tmp/lab
                  remote-pin-server admin sessions --json --lab /tmp/lab |
                    jq '.sessions | length'
                """
        )

        @OptionGroup var options: CallOptions

        func call() -> ListSessions { ListSessions() }

        func reply(to call: ListSessions, from server: OperatorConnection) async throws -> Reply {
            var all = Reply(sessions: [], hasMore: false)
            while true {
                let page = try await server.call(ListSessions(after: all.sessions.last?.connection))
                all.sessions += page.sessions
                all.cluster = page.cluster
                if !page.hasMore || page.sessions.isEmpty { return all }
            }
        }

        func draw(_ reply: Reply, on page: inout Page) {
            if let cluster = reply.cluster {
                page.line(cluster.text)
                if !cluster.others.isEmpty {
                    page.line(
                        "These are the sessions at \(cluster.server). Run this command on the machines of the others: "
                            + "\(cluster.others.joined(separator: ", "))."
                    )
                }
            }
            if reply.sessions.isEmpty { return page.line("no session is open") }
            let rows = reply.sessions.map { session in
                [
                    "\(session.connection)", "\(session.wallet)", session.source, session.since.text,
                    "\(session.instructions)", "\(session.platform.rawValue) \(session.appVersion)",
                ]
            }
            page.table(["CONNECTION", "WALLET", "SOURCE", "SINCE", "INSTRUCTIONS", "APP"], rows)
        }
    }
}

extension BinaryInteger {
    /// Throws if the argument is out of range.
    func mustBe(in range: ClosedRange<Self>, _ name: String) throws(AdminFailure) {
        guard !range.contains(self) else { return }
        throw AdminFailure(.malformed, "`\(name)` is \(self); it must be \(range.lowerBound) … \(range.upperBound).")
    }
}
