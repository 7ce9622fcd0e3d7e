internal import AdminProtocol
package import ArgumentParser
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary

/// `update-policy show`: shows the update policy in effect.
package struct ShowUpdatePolicy: AdminCall {
    package static let name = "update-policy show"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .observer }

    package init() {}

    package func run(in service: AdminService) async throws -> UpdatePolicyReply { UpdatePolicyReply(of: service) }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show the rules that apply now, and whether an operator or the settings made them.",
            discussion: """
                `admin update-policy` without a subcommand shows; the other subcommands are set and clear.

                  remote-pin-server admin update-policy --lab /tmp/lab
                  remote-pin-server admin update-policy set --help
                """
        )

        @OptionGroup var options: CallOptions

        func call() -> ShowUpdatePolicy { ShowUpdatePolicy() }

        func draw(_ reply: UpdatePolicyReply, on page: inout Page) { reply.draw(on: &page) }
    }
}

/// The reply to all `update-policy` commands.
package struct UpdatePolicyReply: Codable, Hashable, Sendable {
    package var now: Timestamp
    package var android: Rules
    package var ios: Rules

    /// The rules for a platform.
    ///
    /// The first rule that matches a version applies.
    package struct Rules: Codable, Hashable, Sendable {
        package var setBy: Origin
        /// The time of the last change; omitted if the rules come from the settings.
        package var changedAt: Timestamp?
        package var rules: [Rule]

        package init(_ rules: [UpdateRule], setAt: Timestamp?, now: Timestamp) {
            self.setBy = setAt == nil ? .settings : .operator
            self.changedAt = setAt
            self.rules = rules.map { Rule($0, now: now) }
        }
    }

    package enum Origin: String, Codable, Sendable { case settings, `operator` }

    /// A rule.
    ///
    /// Its current effect on users is encoded as an additional member.
    package struct Rule: Codable, Hashable, Sendable {
        package var rule: UpdateRule
        package var now: String

        private enum CodingKeys: CodingKey { case now }

        fileprivate init(_ rule: UpdateRule, now: Timestamp) {
            self.rule = rule
            self.now = rule.meaning(at: now)
        }

        package init(from decoder: any Decoder) throws {
            self.rule = try UpdateRule(from: decoder)
            self.now = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .now)
        }

        package func encode(to encoder: any Encoder) throws {
            try self.rule.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.now, forKey: .now)
        }
    }

    init(of service: AdminService) {
        let now = service.server.clock.now()
        func rules(_ platform: Platform) -> Rules {
            let (rules, setAt) = service.server.controls.updateRules(for: platform)
            return Rules(rules, setAt: setAt, now: now)
        }
        (self.now, self.android, self.ios) = (now, rules(.android), rules(.iOS))
    }

    func draw(on page: inout Page) {
        var rows: [[String]] = []
        for (platform, part) in [(Platform.android, self.android), (.iOS, self.ios)] {
            let origin = part.changedAt.map { "operator, \($0.text)" } ?? "settings"
            if part.rules.isEmpty { rows.append([platform.rawValue, "all", "ok", origin, "no message"]) }
            for rule in part.rules {
                rows.append([platform.rawValue, rule.rule.rangeText, rule.rule.wordText, origin, rule.now])
            }
        }
        page.table(["PLATFORM", "VERSIONS", "RULE", "SET BY", "NOW"], rows)
    }
}
