package import AdminProtocol
package import ArgumentParser
internal import AuditLog
internal import RemotePINServer
internal import ServerCommandLine
package import Vocabulary

/// `confirm`: carries out a command requested by another person.
///
/// The operator must repeat the name of the command, so that exactly what was agreed is confirmed and nothing else.
package struct ConfirmRequest: AdminCall {
    package static let name = "confirm"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }
    package var auditDetail: String? { "\(self.id) \(self.command)" }

    /// The id, as eight hexadecimal digits.
    package var id: String
    package var command: String

    package init(id: String, command: String) {
        self.id = id
        self.command = command
    }

    package func validate() throws(AdminFailure) {
        try self.id.utf8.count.mustBe(in: 8...8, "id.count")
        try self.command.utf8.count.mustBe(in: 1...64, "command.count")
    }

    package struct Reply: Codable, Hashable, Sendable {
        package var command: String
        /// The user who requested the command.
        package var requestedBy: String
    }

    package func run(in service: AdminService) async throws -> Reply {
        guard let caller = service.caller, caller.isPerson else {
            let text = "Neither root, the server's user nor a user without an account can confirm; use your own user."
            throw AdminFailure(.notAllowed, text)
        }
        let now = service.server.clock.now()
        let request = try service.pending.take(self.id, self.command, by: caller.userID, at: now)
        try await request.carryOut(service, .confirmed(by: caller.actor, for: request.actor))
        return Reply(command: request.command, requestedBy: request.actor.rawValue)
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "confirm",
            abstract: "Carry out a command that another person requested.",
            discussion: """
                With `admin.two-persons`, `revoke solution` and `vault retire` only make a request. Another person, as \
                another user, confirms it by its id and its command. `admin requests` lists the requests.

                  remote-pin-server admin confirm 4f2a91c0 revoke solution --config server.yaml
                """
        )

        @Argument(help: ArgumentHelp("The request.", valueName: "id"))
        var id: String

        @Argument(help: ArgumentHelp("The requested command, in its words.", valueName: "command"))
        var words: [String]

        @OptionGroup var options: CallOptions

        func call() -> ConfirmRequest {
            ConfirmRequest(id: self.id, command: self.words.joined(separator: " "))
        }

        func draw(_ reply: Reply, on page: inout Page) {
            page.line("\(page.good("done")): \(reply.command), requested by \(reply.requestedBy)")
        }
    }
}

/// `requests`: lists the commands waiting for a second person.
package struct ListRequests: AdminCall {
    package static let name = "requests"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .observer }

    package init() {}

    package struct Reply: Codable, Hashable, Sendable {
        package var requests: [Request]
    }

    package struct Request: Codable, Hashable, Sendable {
        package var id: String
        package var command: String
        package var requestedBy: String
        package var until: Timestamp
    }

    package func run(in service: AdminService) async throws -> Reply {
        Reply(
            requests: service.pending.all(at: service.server.clock.now()).map {
                Request(id: $0.id, command: $0.command, requestedBy: $0.actor.rawValue, until: $0.until)
            }
        )
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "requests",
            abstract: "List the commands that wait for a second person.",
            discussion: "  remote-pin-server admin requests --config server.yaml"
        )

        @OptionGroup var options: CallOptions

        func call() -> ListRequests { ListRequests() }

        func draw(_ reply: Reply, on page: inout Page) {
            guard !reply.requests.isEmpty else { return page.line("no request waits") }
            page.table(
                ["ID", "COMMAND", "REQUESTED BY", "UNTIL"],
                reply.requests.map { [$0.id, $0.command, $0.requestedBy, $0.until.text] }
            )
        }
    }
}
