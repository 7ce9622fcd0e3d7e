internal import ArgumentParser
internal import Vocabulary
internal import Wire

/// What the app's versions are told of updates.
struct AdminUpdatePolicy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update-policy",
        abstract: "Notify of updates, recommend them, warn until a date, or block versions.",
        discussion: """
            Each platform has ordered rules, the first one that fits a version counts; a version that none fits is fine. \
            Without rules of an operator the settings `update.…` count.
            """,
        subcommands: [Show.self, Set.self, Clear.self],
        defaultSubcommand: Show.self
    )

    /// Shows what counts.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show the rules that count now, and whether an operator or the settings made them.",
            discussion: """
                `admin update-policy` alone shows; its other commands are set and clear.

                  remote-pin-server admin update-policy --lab /tmp/lab
                  remote-pin-server admin update-policy set --help
                """
        )

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                try await self.server.connected { self.output.print(try await policy(after: .showUpdatePolicy, $0)) }
            }
        }
    }

    /// Replaces a platform's rules.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Replace a platform's rules.",
            discussion: """
                A rule is \(UpdateRuleText.form). From its time on, what was warned is blocked. +14d counts from the \
                server's clock. Versions see it at their next connection. A blocked version is served nothing but \
                Hello, RevokeWithCode, OpenSession and ReportWipe.

                  remote-pin-server admin update-policy set android ..1.2=block 1.2..1.4=warn@+14d --lab DIR
                  remote-pin-server admin update-policy set ios ..2.0=recommend ..2.1=notify --lab DIR
                  remote-pin-server admin update-policy set all all=ok --lab DIR
                """
        )

        @Argument(help: "android, ios, or all.", completion: .list(PlatformChoice.allCases.map(\.rawValue)))
        var platform: PlatformChoice

        @Argument(help: ArgumentHelp("The rules in their order.", valueName: "rule"))
        var rules: [String]

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { _ = try self.parsed() }

        private func parsed() throws -> [UpdateRuleText] {
            let rules = try self.rules.map(UpdateRuleText.init)
            guard rules.count <= UpdateRule.most else {
                throw ValidationError("A platform has at most \(UpdateRule.most) rules; nothing was done.")
            }
            return rules
        }

        func run() async throws {
            let rules = try self.parsed()
            try await ending {
                try await self.server.connected { call in
                    var now = Timestamp(milliseconds: 0)
                    if rules.contains(where: \.needsTime) { now = try await policy(after: .showUpdatePolicy, call).now }
                    let told = try rules.map { try $0.rule(now: now) }
                    let report = try await policy(after: .setUpdatePolicy(self.platform.platforms, told), call)
                    self.output.print(report)
                }
            }
        }
    }

    /// Has the settings count again.
    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear",
            abstract: "Have the settings count again.",
            discussion: "  remote-pin-server admin update-policy clear android --lab /tmp/lab"
        )

        @Argument(help: "android, ios, or all.", completion: .list(PlatformChoice.allCases.map(\.rawValue)))
        var platform: PlatformChoice

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                try await self.server.connected { call in
                    self.output.print(try await policy(after: .clearUpdatePolicy(self.platform.platforms), call))
                }
            }
        }
    }

    /// Platforms in an argument.
    enum PlatformChoice: String, CaseIterable, ExpressibleByArgument {
        case android
        case ios
        case all

        var platforms: Swift.Set<Platform> {
            switch self {
            case .android: [.android]
            case .ios: [.iOS]
            case .all: [.android, .iOS]
            }
        }
    }
}

/// Gives a command whose result is the policy.
private func policy(
    after command: Wire.AdminCommand,
    _ call: (Wire.AdminCommand) async throws -> AdminResult
) async throws -> UpdatePolicyReport {
    guard case .updatePolicy(let report) = try await call(command) else { throw StartFailure.unexpectedAnswer }
    return report
}

private struct PolicyJSON: Encodable {
    let now: String
    let android: Rules
    let ios: Rules

    struct Rules: Encodable {
        let setBy: String
        let changedAt: String?
        let rules: [Rule]

        init(_ rules: UpdatePolicyReport.Rules, now: Timestamp) {
            self.setBy = rules.setAt == nil ? "settings" : "operator"
            self.changedAt = rules.setAt?.text
            self.rules = rules.rules.map { Rule($0, now: now) }
        }
    }

    struct Rule: Encodable {
        let from: String?
        let below: String?
        let word: String
        let until: String?
        let now: String

        init(_ rule: UpdateRule, now: Timestamp) {
            self.from = rule.from.map { "\($0)" }
            self.below = rule.below.map { "\($0)" }
            if case .warn(let until) = rule.word {
                (self.word, self.until) = ("warn", until.text)
            } else {
                (self.word, self.until) = (rule.wordText, nil)
            }
            self.now = rule.meaning(at: now)
        }
    }

    init(_ report: UpdatePolicyReport) {
        self.now = report.now.text
        self.android = Rules(report.android, now: report.now)
        self.ios = Rules(report.iOS, now: report.now)
    }
}

extension OutputOptions {
    fileprivate func print(_ report: UpdatePolicyReport) {
        self.print(PolicyJSON(report)) { page in
            var rows: [[String]] = []
            for platform in Platform.allCases {
                let part = report[platform]
                let origin = part.setAt.map { "operator, \($0.text)" } ?? "settings"
                if part.rules.isEmpty { rows.append([platform.rawValue, "all", "ok", origin, "fine"]) }
                for rule in part.rules {
                    let meaning = rule.meaning(at: report.now)
                    rows.append([platform.rawValue, rule.rangeText, rule.wordText, origin, meaning])
                }
            }
            page.table(["PLATFORM", "VERSIONS", "RULE", "SET BY", "NOW"], rows)
        }
    }
}
