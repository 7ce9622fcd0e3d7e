internal import AdminProtocol
package import ArgumentParser
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary

/// `flags list`: lists every flag and the wallets that it is on for.
package struct ListFlags: AdminCall {
    package static let name = "flags list"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .observer }

    package init() {}

    package func run(in service: AdminService) async throws -> FlagsReply { FlagsReply(of: service) }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Show every flag and the wallets for which it is on.",
            discussion: """
                `admin flags` without a subcommand lists; the other subcommand is set.

                  remote-pin-server admin flags --lab /tmp/lab
                  remote-pin-server admin flags set --help
                """
        )

        @OptionGroup var options: CallOptions

        func call() -> ListFlags { ListFlags() }

        func draw(_ reply: FlagsReply, on page: inout Page) { reply.draw(on: &page) }
    }
}

/// The reply to `flags list` and `flags set`.
package struct FlagsReply: Codable, Hashable, Sendable {
    package var flags: [Flag]

    package init(_ flags: [Flag]) { self.flags = flags }

    init(of service: AdminService) {
        self.flags = FeatureFlag.allCases.map { flag in
            let (rollout, setAt) = service.server.controls.rollout(of: flag)
            return Flag(flag, rollout, changedAt: setAt)
        }
    }

    /// A flag.
    ///
    /// The members of its rollout are encoded as members of the flag.
    package struct Flag: Codable, Hashable, Sendable {
        package var name: FeatureFlag
        package var rollout: Rollout
        /// The time of the last change; omitted if no operator has changed the flag.
        package var changedAt: Timestamp?

        private enum CodingKeys: CodingKey { case name, changedAt }

        package init(_ name: FeatureFlag, _ rollout: Rollout, changedAt: Timestamp?) {
            self.name = name
            self.rollout = rollout
            self.changedAt = changedAt
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.name = try container.decode(FeatureFlag.self, forKey: .name)
            self.changedAt = try container.decodeIfPresent(Timestamp.self, forKey: .changedAt)
            self.rollout = try Rollout(from: decoder)
        }

        package func encode(to encoder: any Encoder) throws {
            try self.rollout.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.name, forKey: .name)
            try container.encodeIfPresent(self.changedAt, forKey: .changedAt)
        }
    }

    func draw(on page: inout Page) {
        let rows = self.flags.map { flag in
            let state =
                switch flag.rollout {
                case .off: "off"
                case .on: "on"
                case .wallets(let wallets): "list of \(wallets.count)"
                case .percentage(let number): "percent \(number)"
                }
            return [flag.name.rawValue, state, flag.changedAt?.text ?? "never"]
        }
        page.table(["FLAG", "ON FOR", "CHANGED"], rows)
        for flag in self.flags {
            guard case .wallets(let wallets) = flag.rollout else { continue }
            for wallet in wallets.map(\.description).sorted() { page.line("  \(wallet)") }
        }
    }
}
