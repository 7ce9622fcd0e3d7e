package import ArgumentParser
internal import ServerSettings
package import StoreMaintenance

/// `vault refresh-shares`: replaces the shares of all wallets, after the store and its key were stolen.
///
/// The reply is sent when the server starts creating the new shares.
package struct RefreshShares: AdminCall {
    package static let name = "vault refresh-shares"
    package static let lane: AdminLane? = .vaultKeys
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .start }

    package init() {}

    package func run(in service: AdminService) async throws -> ShareRefreshProgress {
        try await service.operations.maintenance.refreshShares()
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "refresh-shares",
            abstract: "Replace the shares of all wallets, after a theft of the store and its key.",
            discussion: """
                Each wallet receives its next shares at its next unlock, seals its data under them and confirms; its \
                old shares are then destroyed. Rotate the keys first: what is stolen then combines with no phone that \
                has unlocked since. `admin status` shows how many wallets are left. A restore of an earlier backup \
                brings the old shares back, and wallets that have replaced theirs must be set up anew: make a backup \
                afterwards.

                  remote-pin-server vault rotate --config server.yaml
                  remote-pin-server vault refresh-shares --config server.yaml
                  remote-pin-server vault refresh-shares --yes --lab /tmp/lab
                """
        )

        @Flag(help: "Do not ask; for scripts.")
        var yes = false

        @OptionGroup var options: CallOptions

        func call() throws -> RefreshShares {
            if !self.yes {
                try Phrase.ask(
                    "replace all shares",
                    because: "Backups made before cannot serve the wallets that have replaced their shares."
                )
            }
            return RefreshShares()
        }

        func reply(to call: RefreshShares, from server: OperatorConnection) async throws -> ShareRefreshProgress {
            let interval = ProgressInterval()
            var line = ProgressLine()
            defer { line.end() }
            var progress = try await server.call(call)
            while progress.state == .running {
                line.show("making next shares", progress.walletsDone, of: progress.wallets)
                try await interval.wait()
                guard let next = try await server.call(ShowMaintenance()).refresh else { break }
                progress = next
            }
            return progress
        }

        func draw(_ reply: ShareRefreshProgress, on page: inout Page) {
            page.line("\(page.good("offered")): \(reply.spoken)")
            page.line("each wallet replaces its shares at its next unlock; `admin status` shows how many are left")
        }
    }
}

extension ShareRefreshProgress {
    /// A sentence describing the progress.
    var spoken: String {
        switch self.state {
        case .done: "all wallets have next shares"
        case .running: "\(self.walletsDone) of \(self.wallets) wallets done"
        case .failed: "interrupted, will be retried: \(self.problem ?? "")"
        }
    }
}
