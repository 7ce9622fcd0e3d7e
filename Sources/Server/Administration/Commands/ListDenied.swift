package import AdminProtocol
package import ArgumentParser
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary
internal import WalletStore

/// `deny-list list`: lists the entries of the deny list, sorted by MAC.
package struct ListDenied: AdminCall {
    package static let name = "deny-list list"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }

    /// The last MAC of the previous page, or nil for the first page.
    package var after: RecoveryCodeMAC?
    package var limit = ListDenied.limits.upperBound

    /// The allowed page sizes.
    ///
    /// The largest page fits in a frame.
    package static let limits = 1...500

    package struct Reply: Codable, Hashable, Sendable {
        package var entries: [Entry]
        /// Whether there are more entries after this page.
        package var hasMore: Bool
    }

    package struct Entry: Codable, Hashable, Sendable {
        package var mac: RecoveryCodeMAC
        package var deniedAt: Timestamp
    }

    package func validate() throws(AdminFailure) { try self.limit.mustBe(in: Self.limits, "limit") }

    package func run(in service: AdminService) async throws -> Reply {
        let page = try await service.server.store.denied(after: self.after, limit: self.limit)
        return Reply(entries: page.entries.map { Entry(mac: $0.mac, deniedAt: $0.deniedAt) }, hasMore: page.hasMore)
    }

    package var page: ListPage? { self.after.map { ListPage(of: Self.name, after: "\($0)") } }

    package func page(after reply: Reply) -> ListPage? {
        guard reply.hasMore, let last = reply.entries.last else { return nil }
        return ListPage(of: Self.name, after: "\(last.mac)")
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the MACs of the codes and the time since which each is denied.",
            discussion: """
                `admin deny-list` without a subcommand lists; the other subcommands are show, add and remove.

                  remote-pin-server admin deny-list --lab /tmp/lab
                  remote-pin-server admin deny-list show --help
                """
        )

        @OptionGroup var options: CallOptions

        func call() -> ListDenied { ListDenied() }

        func reply(to call: ListDenied, from server: OperatorConnection) async throws -> Reply {
            var all = Reply(entries: [], hasMore: false)
            while true {
                let page = try await server.call(ListDenied(after: all.entries.last?.mac))
                all.entries += page.entries
                if !page.hasMore || page.entries.isEmpty { return all }
            }
        }

        func draw(_ reply: Reply, on page: inout Page) {
            if reply.entries.isEmpty { return page.line("the deny list is empty") }
            page.table(["MAC", "DENIED"], reply.entries.map { ["\($0.mac)", $0.deniedAt.text] })
        }
    }
}
