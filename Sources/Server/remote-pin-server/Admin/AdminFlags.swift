internal import ArgumentParser
internal import Vocabulary
internal import Wire

/// What is switched for some wallets before others.
struct AdminFlags: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flags",
        abstract: "Switch features on for some wallets, for a part of them, or for all.",
        subcommands: [List.self, Set.self],
        defaultSubcommand: List.self
    )

    /// Shows all flags.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Show every flag and for whom it is on.",
            discussion: """
                `admin flags` alone lists; its other command is set.

                  remote-pin-server admin flags --lab /tmp/lab
                  remote-pin-server admin flags set --help
                """
        )

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending { try await self.server.showFlags(after: .listFlags, output: self.output) }
        }
    }

    /// Sets one flag.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Set for whom a feature is on.",
            discussion: """
                A wallet sees it at its next session. With a percentage the same wallets stay in as it grows. A list \
                replaces the one before.

                  remote-pin-server admin flags set safe-biometric-unlock list 3f9c01… --lab /tmp/lab
                  remote-pin-server admin flags set safe-biometric-unlock percent 10 --lab /tmp/lab
                  remote-pin-server admin flags set safe-biometric-unlock on --lab /tmp/lab
                  remote-pin-server admin flags set safe-biometric-unlock off --lab /tmp/lab
                """
        )

        @Argument(
            help: ArgumentHelp("The flag: safe-biometric-unlock.", valueName: "flag"),
            completion: .list(FeatureFlag.allCases.map(\.rawValue))
        )
        var flag: String

        @Argument(
            help: ArgumentHelp("off, on, list or percent.", valueName: "for-whom"),
            completion: .list(["off", "on", "list", "percent"])
        )
        var mode: String

        @Argument(help: ArgumentHelp("With list: wallets. With percent: 0 … 100.", valueName: "value"))
        var values: [String] = []

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { _ = try self.parsed() }

        private func parsed() throws -> (flag: FeatureFlag, rollout: Rollout) {
            guard let flag = FeatureFlag(rawValue: self.flag) else {
                let known = FeatureFlag.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("There is no flag `\(self.flag)`; there are: \(known).")
            }
            return (flag, try self.rollout())
        }

        func run() async throws {
            let (flag, rollout) = try self.parsed()
            try await ending { try await self.server.showFlags(after: .setFlag(flag, rollout), output: self.output) }
        }

        private func rollout() throws -> Rollout {
            switch (self.mode, self.values.count) {
            case ("off", 0): return .off
            case ("on", 0): return .on
            case ("list", 1...):
                let wallets = Swift.Set(try self.values.map(walletID))
                guard wallets.count <= Rollout.mostWallets else {
                    throw ValidationError("A list has at most \(Rollout.mostWallets) wallets.")
                }
                return .wallets(wallets)
            case ("list", _): throw ValidationError("Name the wallets: list ID…; for none of them, off.")
            case ("percent", 1):
                guard let number = Int(self.values[0]), Rollout.allowedPercentages.contains(number) else {
                    throw ValidationError("`\(self.values[0])` is no percentage; write a whole number from 0 to 100.")
                }
                return .percentage(number)
            default:
                throw ValidationError("Write one of: off · on · list ID… · percent N.")
            }
        }
    }
}

extension ServerOptions {
    fileprivate struct FlagsJSON: Encodable {
        let flags: [Flag]

        struct Flag: Encodable {
            let name: String
            let state: String
            let wallets: [String]?
            let percentage: Int?
            let changedAt: String?

            init(_ report: FlagReport) {
                self.name = report.flag.rawValue
                self.changedAt = report.changedAt?.text
                switch report.rollout {
                case .off: (self.state, self.wallets, self.percentage) = ("off", nil, nil)
                case .on: (self.state, self.wallets, self.percentage) = ("on", nil, nil)
                case .wallets(let wallets):
                    (self.state, self.wallets, self.percentage) = ("list", wallets.map(\.description).sorted(), nil)
                case .percentage(let number): (self.state, self.wallets, self.percentage) = ("percent", nil, number)
                }
            }
        }
    }

    fileprivate func showFlags(after command: Wire.AdminCommand, output: OutputOptions) async throws {
        guard case .flags(let flags) = try await self.call(command) else { throw StartFailure.unexpectedAnswer }
        output.print(FlagsJSON(flags: flags.map(FlagsJSON.Flag.init))) { page in
            let rows = flags.map { report in
                let state =
                    switch report.rollout {
                    case .off: "off"
                    case .on: "on"
                    case .wallets(let wallets): "list of \(wallets.count)"
                    case .percentage(let number): "percent \(number)"
                    }
                return [report.flag.rawValue, state, report.changedAt?.text ?? "never"]
            }
            page.table(["FLAG", "FOR WHOM", "CHANGED"], rows)
            for report in flags {
                guard case .wallets(let wallets) = report.rollout else { continue }
                for wallet in wallets.map(\.description).sorted() { page.line("  \(wallet)") }
            }
        }
    }
}
