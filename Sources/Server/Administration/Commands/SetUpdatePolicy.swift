package import AdminProtocol
package import ArgumentParser
internal import RemotePINServer
internal import ServerCommandLine
package import Vocabulary

/// `update-policy set`: replaces the rules for the given platforms.
///
/// The new rules override the settings until they are cleared.
package struct SetUpdatePolicy: AdminCall {
    package static let name = "update-policy set"
    package static let lane: AdminLane? = .store
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }
    package var auditDetail: String? { "\(self.platforms.names) \(UpdateRule.text(of: self.rules))" }

    package var platforms: Set<Platform>
    package var rules: [UpdateRule]

    package init(_ platforms: Set<Platform>, to rules: [UpdateRule]) {
        self.platforms = platforms
        self.rules = rules
    }

    package func validate() throws(AdminFailure) {
        try self.platforms.count.mustBe(in: 1...Platform.allCases.count, "platforms.count")
        try self.rules.count.mustBe(in: 0...UpdateRule.most, "rules.count")
    }

    package func run(in service: AdminService) async throws -> UpdatePolicyReply {
        let server = service.server
        try await server.controls.set(self.rules, for: self.platforms, at: server.clock.now())
        return UpdatePolicyReply(of: service)
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Replace the rules of a platform.",
            discussion: """
                A rule is \(UpdateRuleText.form). A version with a warning is blocked from the warning's time on. +14d \
                counts from the server's clock. Apps learn of the change at their next connection. A blocked version \
                may only call Hello, RevokeWithCode, OpenSession and ReportWipe.

                  remote-pin-server admin update-policy set android ..1.2=block 1.2..1.4=warn@+14d --lab DIR
                  remote-pin-server admin update-policy set ios ..2.0=recommend ..2.1=notify --lab DIR
                  remote-pin-server admin update-policy set all all=ok --lab DIR
                """
        )

        @Argument(help: "android, ios, or all.", completion: .list(PlatformChoice.allCases.map(\.rawValue)))
        var platform: PlatformChoice

        @Argument(
            help: ArgumentHelp("The rules in their order.", valueName: "rule"),
            transform: UpdateRuleText.init
        )
        var rules: [UpdateRuleText]

        @OptionGroup var options: CallOptions

        func validate() throws {
            guard self.rules.count <= UpdateRule.most else {
                throw ValidationError("A platform has at most \(UpdateRule.most) rules; nothing was done.")
            }
        }

        func call() -> SetUpdatePolicy { self.call(now: Timestamp(milliseconds: 0)) }

        private func call(now: Timestamp) -> SetUpdatePolicy {
            SetUpdatePolicy(self.platform.platforms, to: self.rules.compactMap { $0.rule(now: now) })
        }

        func reply(to call: SetUpdatePolicy, from server: OperatorConnection) async throws -> UpdatePolicyReply {
            guard self.rules.contains(where: \.needsTime) else { return try await server.call(call) }
            return try await server.call(self.call(now: try await server.call(ShowUpdatePolicy()).now))
        }

        func draw(_ reply: UpdatePolicyReply, on page: inout Page) { reply.draw(on: &page) }
    }
}

/// An argument that selects one platform or all of them.
enum PlatformChoice: String, CaseIterable, ExpressibleByArgument {
    case android
    case ios
    case all

    var platforms: Set<Platform> {
        switch self {
        case .android: [.android]
        case .ios: [.iOS]
        case .all: Set(Platform.allCases)
        }
    }
}

extension Set<Platform> {
    /// The platform names for the audit log.
    var names: String { Platform.allCases.filter(self.contains).map(\.rawValue).joined(separator: " ") }
}
