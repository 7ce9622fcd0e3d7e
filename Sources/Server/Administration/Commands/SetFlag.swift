package import ArgumentParser
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary

/// `flags set`: sets which wallets have a feature turned on, starting with each wallet's next session.
package struct SetFlag: AdminCall {
    package static let name = "flags set"
    package static let lane: AdminLane? = .store
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }
    package var auditDetail: String? { "\(self.flag.rawValue) \(self.rollout.text)" }

    package var flag: FeatureFlag
    package var rollout: Rollout

    package init(_ flag: FeatureFlag, to rollout: Rollout) {
        self.flag = flag
        self.rollout = rollout
    }

    package func run(in service: AdminService) async throws -> FlagsReply {
        let server = service.server
        try await server.controls.set(self.flag, to: self.rollout, at: server.clock.now())
        return FlagsReply(of: service)
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Set the wallets for which a feature is on.",
            discussion: """
                A wallet gets the change at its next session. As a percentage grows, the same wallets stay included. A \
                list replaces the previous one.

                  remote-pin-server admin flags set safe-biometric-unlock list 3f9c01… \\
                    --lab /tmp/lab
                  remote-pin-server admin flags set safe-biometric-unlock percent 10 \\
                    --lab /tmp/lab
                  remote-pin-server admin flags set safe-biometric-unlock on --lab /tmp/lab
                  remote-pin-server admin flags set safe-biometric-unlock off --lab /tmp/lab
                """
        )

        @Argument(help: "The flag: safe-biometric-unlock.")
        var flag: FeatureFlag

        @Argument(
            help: ArgumentHelp("off, on, list or percent.", valueName: "rollout"),
            completion: .list(["off", "on", "list", "percent"])
        )
        var mode: String

        @Argument(help: ArgumentHelp("With list: wallets. With percent: 0 … 100.", valueName: "value"))
        var values: [String] = []

        @OptionGroup var options: CallOptions

        func validate() throws { _ = try self.rollout() }

        func call() throws -> SetFlag { SetFlag(self.flag, to: try self.rollout()) }

        private func rollout() throws -> Rollout {
            switch (self.mode, self.values.count) {
            case ("off", 0): return .off
            case ("on", 0): return .on
            case ("list", 1...):
                let wallets = Set(try self.values.map(walletID))
                guard wallets.count <= Rollout.mostWallets else {
                    throw ValidationError("A list has at most \(Rollout.mostWallets) wallets.")
                }
                return .wallets(wallets)
            case ("list", _): throw ValidationError("Name the wallets: list ID…; for an empty list use off.")
            case ("percent", 1):
                guard let number = Int(self.values[0]), Rollout.allowedPercentages.contains(number) else {
                    throw ValidationError(
                        "`\(self.values[0])` is not a percentage; write a whole number from 0 to 100."
                    )
                }
                return .percentage(number)
            default: throw ValidationError("Write one of: off · on · list ID… · percent N.")
            }
        }

        func draw(_ reply: FlagsReply, on page: inout Page) { reply.draw(on: &page) }
    }
}
