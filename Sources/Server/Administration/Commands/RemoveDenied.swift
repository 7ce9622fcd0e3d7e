package import ArgumentParser
internal import AuditLog
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary
internal import WalletStore

/// `deny-list remove`: removes a recovery code from the deny list.
///
/// Wallets that were revoked because of the code stay revoked.
package struct RemoveDenied: DeniedNameCall {
    package static let name = AuditEvent.removeDenied.rawValue
    package static let lane: AdminLane? = .store
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }

    package var code: DeniedName

    package init(_ code: DeniedName) { self.code = code }

    package struct Reply: Codable, Hashable, Sendable {
        package var mac: RecoveryCodeMAC
        package var removed: Bool
        /// The time at which the code was added to the list; omitted if it was not on the list.
        package var deniedAt: Timestamp?

        package init(mac: RecoveryCodeMAC, deniedAt: Timestamp?) {
            (self.mac, self.removed, self.deniedAt) = (mac, deniedAt != nil, deniedAt)
        }
    }

    package func run(in service: AdminService) async throws -> Reply {
        let mac = try self.code.mac(in: service)
        return Reply(mac: mac, deniedAt: try await service.server.store.removeDenied(mac))
    }

    package func auditResult(of reply: Reply) -> String { reply.removed ? "on the list" : "not on the list" }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Allow wallets to link a code again; those that it revoked stay revoked.",
            discussion: """
                The exit status is 1 if the code was not on the list.

                  remote-pin-server admin deny-list remove --code-file code.txt --lab /tmp/lab
                  remote-pin-server admin deny-list remove --mac 5be0… --lab /tmp/lab
                """
        )

        @OptionGroup var code: DeniedNameOptions
        @OptionGroup var options: CallOptions

        func call() throws -> RemoveDenied { RemoveDenied(try self.code.read()) }

        func draw(_ reply: Reply, on page: inout Page) {
            page.line(reply.removed ? "off the deny list: \(reply.mac)" : "it was not on the deny list")
        }

        func exitStatus(after reply: Reply) -> StartFailure.Kind? { reply.removed ? nil : .notDone }
    }
}
