package import ArgumentParser
package import RemotePINServer
internal import ServerSettings

/// `reload`: does the same as SIGHUP.
package struct Reload: AdminCall {
    package static let name = "reload"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }

    package init() {}

    package struct Reply: Codable, Hashable, Sendable {
        package var parts: [ReloadedPart]
    }

    package func run(in service: AdminService) async throws -> Reply {
        Reply(parts: await service.operations.reload())
    }

    package func auditResult(of reply: Reply) -> String {
        reply.parts.compactMap { $0.reloaded ? $0.note : "the old \($0.name) stays" }.joined(separator: ", ")
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "reload",
            abstract: "Read configuration, certificate, keys and lists again; the same as SIGHUP.",
            discussion: """
                Applies the changed settings that a running server can change (docs/settings.md), and names those \
                that take effect at the next start. Prints for each part whether the new one is in use. If one cannot \
                be used, the old one stays in use \
                and the exit status is 74. Open connections continue.

                  remote-pin-server admin reload --lab /tmp/lab
                """
        )

        @OptionGroup var options: CallOptions

        func call() -> Reload { Reload() }

        func draw(_ reply: Reply, on page: inout Page) {
            let rows = reply.parts.map { part in
                let good = page.good("reloaded") + (part.note.map { "; \($0)" } ?? "")
                return [part.name, part.reason.map { page.bad("the old one stays: \($0)") } ?? good]
            }
            page.table(["PART", "STATE"], rows)
        }

        func exitStatus(after reply: Reply) -> StartFailure.Kind? {
            reply.parts.allSatisfy(\.reloaded) ? nil : .files
        }
    }
}
