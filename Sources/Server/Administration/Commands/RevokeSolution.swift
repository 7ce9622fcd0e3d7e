package import ArgumentParser
internal import AuditLog
internal import Logging
internal import RemotePINServer
internal import ServerSettings
internal import Vocabulary
package import WalletStore

/// `revoke solution`: stops the release of shares and the registration of wallets until the solution is restored.
///
/// No shares are destroyed.
package struct RevokeSolution: SolutionCall {
    package static let name = AuditEvent.revokeSolution.rawValue
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }

    package init() {}

    package func run(in service: AdminService) async throws -> SolutionReply {
        try await service.setSolutionRevoked(true)
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "solution",
            abstract: "Revoke the whole solution: no wallet opens or registers until it is restored.",
            discussion: """
                All users are locked out at once. Nothing is destroyed: `admin restore solution` takes the revocation \
                back. The command asks you to type a phrase.

                  remote-pin-server admin revoke solution --lab /tmp/lab
                  remote-pin-server admin revoke solution --yes --lab /tmp/lab
                """
        )

        @Flag(help: "Do not ask; for scripts.")
        var yes = false

        @OptionGroup var options: CallOptions

        func call() throws -> RevokeSolution {
            if !self.yes { try Phrase.ask("revoke the solution", because: "No wallet will open.") }
            return RevokeSolution()
        }

        func draw(_ reply: SolutionReply, on page: inout Page) { reply.draw(on: &page) }
    }
}

/// `restore solution`: reverses the revocation of the solution.
package struct RestoreSolution: SolutionCall {
    package static let name = AuditEvent.restoreSolution.rawValue
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }

    package init() {}

    package func run(in service: AdminService) async throws -> SolutionReply {
        try await service.setSolutionRevoked(false)
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "solution",
            abstract: "Serve again after `revoke solution`.",
            discussion: """
                Wallets are as they were; those that were revoked for another reason stay revoked. The command asks \
                you to type a phrase.

                  remote-pin-server admin restore solution --lab /tmp/lab
                  remote-pin-server admin restore solution --yes --lab /tmp/lab
                """
        )

        @Flag(help: "Do not ask; for scripts.")
        var yes = false

        @OptionGroup var options: CallOptions

        func call() throws -> RestoreSolution {
            if !self.yes { try Phrase.ask("restore the solution", because: "Every wallet will open again.") }
            return RestoreSolution()
        }

        func draw(_ reply: SolutionReply, on page: inout Page) { reply.draw(on: &page) }
    }
}

/// A command that revokes or restores the solution.
package protocol SolutionCall: AdminCall where Reply == SolutionReply {}

extension SolutionCall {
    package static var lane: AdminLane? { .store }
    package var effect: AdminEffect { .change }
    package func auditResult(of reply: SolutionReply) -> String { reply.changed ? "" : "as before" }
}

/// The reply to `revoke solution` and `restore solution`.
package struct SolutionReply: Codable, Hashable, Sendable {
    package var revoked: Bool
    /// Whether the command changed anything.
    package var changed: Bool
    /// The servers for which a revocation waited; omitted for an embedded store.
    package var servers: Acknowledgements?

    fileprivate func draw(on page: inout Page) {
        let state = self.revoked ? page.bad("revoked") : page.good("in service")
        page.line("the solution is \(state)\(self.changed ? "" : ", as it was before")")
        if let servers { page.line(servers.text) }
    }
}

extension AdminService {
    fileprivate func setSolutionRevoked(_ isRevoked: Bool) async throws -> SolutionReply {
        let changed = try await self.server.store.setSolutionRevoked(isRevoked)
        if isRevoked { await self.server.settleAll() }
        if changed {
            self.server.log.notice(isRevoked ? "solution revoked" : "solution restored")
            self.server.report(isRevoked ? .solutionRevoked : .solutionRestored)
        }
        let servers = isRevoked ? try await self.acknowledgements() : nil
        return SolutionReply(revoked: isRevoked, changed: changed, servers: servers)
    }
}
