package import AdminProtocol
package import ArgumentParser
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary

/// `update-policy clear`: removes the operators' rules for the platforms, so that the settings apply again.
package struct ClearUpdatePolicy: AdminCall {
    package static let name = "update-policy clear"
    package static let lane: AdminLane? = .store
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }
    package var auditDetail: String? { self.platforms.names }

    package var platforms: Set<Platform>

    package init(_ platforms: Set<Platform>) { self.platforms = platforms }

    package func validate() throws(AdminFailure) {
        try self.platforms.count.mustBe(in: 1...Platform.allCases.count, "platforms.count")
    }

    package func run(in service: AdminService) async throws -> UpdatePolicyReply {
        let server = service.server
        try await server.controls.set(nil, for: self.platforms, at: server.clock.now())
        return UpdatePolicyReply(of: service)
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear",
            abstract: "Remove the rules set by operators, so that the `update.…` settings apply.",
            discussion: "  remote-pin-server admin update-policy clear android --lab /tmp/lab"
        )

        @Argument(help: "android, ios, or all.", completion: .list(PlatformChoice.allCases.map(\.rawValue)))
        var platform: PlatformChoice

        @OptionGroup var options: CallOptions

        func call() -> ClearUpdatePolicy { ClearUpdatePolicy(self.platform.platforms) }

        func draw(_ reply: UpdatePolicyReply, on page: inout Page) { reply.draw(on: &page) }
    }
}
