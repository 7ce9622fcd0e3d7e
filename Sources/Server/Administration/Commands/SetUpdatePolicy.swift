package import AdminProtocol
package import ArgumentParser
internal import ConfigText
internal import RemotePINServer
internal import ServerSettings
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

                  remote-pin-server admin update-policy set android ..1.2=block \\
                    1.2..1.4=warn@+14d --lab DIR
                  remote-pin-server admin update-policy set ios ..2.0=recommend ..2.1=notify \\
                    --lab DIR
                  remote-pin-server admin update-policy set all all=ok --lab DIR
                """
        )

        @Argument(help: "android, ios, or all.", completion: .list(PlatformChoice.allCases.map(\.rawValue)))
        var platform: PlatformChoice

        @Argument(help: ArgumentHelp("The rules in their order.", valueName: "rule"), transform: UpdateRuleText.init)
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
    case android, ios, all

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

/// A rule of the update policy as operators type it, such as `..1.4=block`.
struct UpdateRuleText {
    /// The syntax, for use in messages.
    static let form = """
        RANGE=WORD with RANGE one of all, ..B (below B), A.. (from A on), A..B (from A, below B) and WORD one of ok, \
        notify, recommend, warn@TIME, block, block-without-update; TIME as 2026-12-24, 2026-12-24T18:00:00Z or +14d
        """

    private let from: AppVersion?
    private let below: AppVersion?
    private let word: Word

    private enum Word {
        case plain(UpdateRule.Word)
        /// A warning until a time that is relative to the server's clock.
        case warn(after: Duration)
    }

    init(_ text: String) throws {
        func rejected(_ why: String) -> ValidationError {
            ValidationError("`\(text)`: \(why). A rule is \(Self.form).")
        }
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard sides.count == 2 else { throw rejected("`=` is missing") }
        if sides[0] == "all" {
            (self.from, self.below) = (nil, nil)
        } else {
            guard let dots = sides[0].firstRange(of: "..") else { throw rejected("`\(sides[0])` is not a range") }
            func version(_ text: Substring) throws -> AppVersion? {
                if text.isEmpty { return nil }
                guard let version = AppVersion(String(text)) else { throw rejected("`\(text)` is not a version") }
                return version
            }
            self.from = try version(sides[0][..<dots.lowerBound])
            self.below = try version(sides[0][dots.upperBound...])
            guard self.from != nil || self.below != nil else { throw rejected("write `all` for every version") }
        }
        guard let word = Self.word(sides[1]) else { throw rejected("`\(sides[1])` is not a word of the policy") }
        guard UpdateRule(from: self.from, below: self.below, .ok) != nil else {
            throw rejected("no version is in that range")
        }
        self.word = word
    }

    private static func word(_ text: String) -> Word? {
        guard text.hasPrefix("warn@") else { return UpdateRule.word(named: text).map(Word.plain) }
        let time = String(text.dropFirst(5))
        if time.hasPrefix("+") { return DurationText.read(String(time.dropFirst())).map { .warn(after: $0) } }
        return Timestamp(text: time).map { .plain(.warn(until: $0)) }
    }

    /// Whether the rule contains a time relative to the server's clock.
    var needsTime: Bool {
        if case .warn = self.word { return true }
        return false
    }

    /// Returns the rule, given the server's current time.
    ///
    /// The range was validated by the initializer.
    func rule(now: Timestamp) -> UpdateRule? {
        switch self.word {
        case .plain(let word): UpdateRule(from: self.from, below: self.below, word)
        case .warn(let after): UpdateRule(from: self.from, below: self.below, .warn(until: now + after))
        }
    }
}

extension UpdateRule {
    /// The range as operators type it.
    var rangeText: String {
        if self.from == nil, self.below == nil { return "all" }
        return "\(self.from.map { "\($0)" } ?? "")..\(self.below.map { "\($0)" } ?? "")"
    }

    /// The action as operators type it.
    var wordText: String {
        if case .warn(let until) = self.word { return "warn@\(until.text)" }
        return self.wordName
    }

    /// Describes the effect on users at the given time.
    func meaning(at now: Timestamp) -> String {
        switch self.verdict(at: now) {
        case .ok: "no message"
        case .notify: "notified that an update exists"
        case .recommend: "an update is recommended"
        case .warn(let blockedIn): "warned: blocked in \(blockedIn.spoken)"
        case .block(updateAvailable: true): "blocked, with an update in the store"
        case .block(updateAvailable: false): "blocked, with no update in the store"
        }
    }
}
