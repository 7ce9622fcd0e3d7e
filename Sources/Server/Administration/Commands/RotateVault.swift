internal import AdminProtocol
package import ArgumentParser
internal import AuditLog
internal import ServerSettings
package import StoreMaintenance

/// `vault rotate`: adds a new version of the vault's keys and uses it for sealing from then on.
///
/// The reply is sent when the server starts resealing older values.
package struct RotateVault: AdminCall {
    package static let name = AuditEvent.rotateVault.rawValue
    package static let lane: AdminLane? = .vaultKeys
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .start }

    package init() {}

    package func run(in service: AdminService) async throws -> ResealProgress {
        try await service.operations.maintenance.rotate()
        guard let reseal = service.operations.maintenance.report().reseal else {
            throw AdminFailure(.internal, "The resealing has not begun.")
        }
        return reseal
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Add a key version that seals from now on, and reseal the values of older versions.",
            discussion: """
                Copy the key file before and after: a store is useless without the version that sealed it. The \
                resealing continues in the server when this command ends, and after a restart, and delays no PIN. The \
                keys of the audit log and of the receipts are rotated, too; the key that indexes recovery codes is \
                not. A second rotation is rejected until the first is finished and the enrollments before it have \
                expired (exit status 77).

                With `vault.socket` the new version is in the module if that has both of its keys, `key-N` and \
                `history-N`; make them first. Only before the move to the module can it also be in the file, which \
                `vault status` shows. Each wallet then costs the module up to two codes, one after the other.

                  remote-pin-server vault rotate --config server.yaml
                  remote-pin-server vault rotate --yes --lab /tmp/lab
                """
        )

        @Flag(help: "Do not ask; for scripts.")
        var yes = false

        @OptionGroup var options: CallOptions

        func call() throws -> RotateVault {
            if !self.yes {
                try Phrase.ask(
                    "the key file is copied",
                    because: "First copy the key file (`vault.key-file`) to the place of its copies."
                )
            }
            return RotateVault()
        }

        func reply(to call: RotateVault, from server: OperatorConnection) async throws -> ResealProgress {
            let interval = ProgressInterval()
            var line = ProgressLine()
            defer { line.end() }
            var progress = try await server.call(call)
            while progress.state == .running {
                line.show("resealing", progress.walletsDone, of: progress.wallets)
                try await interval.wait()
                guard let next = try await server.call(ShowMaintenance()).reseal else { break }
                progress = next
            }
            return progress
        }

        func draw(_ reply: ResealProgress, on page: inout Page) {
            page.line("\(page.good("rotated")): version \(reply.version) seals, \(reply.spoken)")
            page.line("copy the key file again: older copies cannot open values that are sealed from now on")
        }
    }
}
