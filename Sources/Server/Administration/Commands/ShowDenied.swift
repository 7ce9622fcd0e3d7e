internal import AdminProtocol
package import ArgumentParser
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary
internal import WalletStore

/// `deny-list show`: shows whether a recovery code is on the deny list.
package struct ShowDenied: DeniedNameCall {
    package static let name = "deny-list show"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }

    package var code: DeniedName

    package init(_ code: DeniedName) { self.code = code }

    package struct Reply: Codable, Hashable, Sendable {
        package var mac: RecoveryCodeMAC
        package var denied: Bool
        /// The time at which the code was added to the list; omitted if it is not on the list.
        package var deniedAt: Timestamp?

        package init(mac: RecoveryCodeMAC, deniedAt: Timestamp?) {
            (self.mac, self.denied, self.deniedAt) = (mac, deniedAt != nil, deniedAt)
        }
    }

    package func run(in service: AdminService) async throws -> Reply {
        let mac = try self.code.mac(in: service)
        return Reply(mac: mac, deniedAt: try await service.server.store.denied(mac))
    }

    package func auditResult(of reply: Reply) -> String { reply.denied ? "on the list" : "not on the list" }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show whether a code is on the list; exit status 1 if it is not.",
            discussion: """
                  remote-pin-server admin deny-list show --lab /tmp/lab
                  remote-pin-server admin deny-list show --mac 5be0… --lab /tmp/lab
                """
        )

        @OptionGroup var code: DeniedNameOptions
        @OptionGroup var options: CallOptions

        func call() throws -> ShowDenied { ShowDenied(try self.code.read()) }

        func draw(_ reply: Reply, on page: inout Page) {
            page.line(reply.deniedAt.map { "denied since \($0.text), as \(reply.mac)" } ?? "not on the deny list")
        }

        func exitStatus(after reply: Reply) -> StartFailure.Kind? { reply.denied ? nil : .notDone }
    }
}
