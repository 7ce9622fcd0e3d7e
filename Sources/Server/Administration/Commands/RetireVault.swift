package import ArgumentParser
internal import AuditLog
internal import ServerSettings
internal import StoreMaintenance

/// `vault retire`: removes the key versions that no stored value is sealed with anymore.
package struct RetireVault: AdminCall {
    package static let name = AuditEvent.retireVault.rawValue
    package static let lane: AdminLane? = .vaultKeys
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }

    package init() {}

    package func run(in service: AdminService) async throws -> VaultKeysReply {
        let left = try await service.operations.maintenance.retire()
        return VaultKeysReply(left, inKeyFile: left.map(\.version))
    }

    package func auditResult(of reply: VaultKeysReply) -> String {
        "left: \(reply.versions.map { "\($0.version)" }.joined(separator: ", "))"
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "retire",
            abstract: "Remove the key versions that no longer seal any value.",
            discussion: """
                Older backups can only be opened with these versions: keep a copy of the key file as long as such \
                backups. If no version can be removed, the message states the reason and the time from which one can; \
                the exit status is 77.

                  remote-pin-server vault retire --config server.yaml
                """
        )

        @Flag(help: "Do not ask; for scripts.")
        var yes = false

        @OptionGroup var options: CallOptions

        func call() throws -> RetireVault {
            if !self.yes {
                try Phrase.ask(
                    "the key file is copied",
                    because: "Older backups need the versions that are removed. First copy the key file."
                )
            }
            return RetireVault()
        }

        func draw(_ reply: VaultKeysReply, on page: inout Page) {
            reply.draw(on: &page)
            guard reply.versions.contains(where: { $0.inModule == true }) else { return }
            page.line("in the module, destroy only the `key-N` of a removed version, once no backup needs it:")
            page.line("every start needs all `history-N` and `index`")
        }
    }
}
