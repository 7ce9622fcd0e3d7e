internal import ArgumentParser
internal import Vocabulary
internal import Wire

extension AdminWallet {
    /// Lists wallets that fit.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List wallets in the order of their registration: all, or those that fit.",
            discussion: """
                States: open, blocked, blocked-permanently, never-opened, revoked; --state can be given several times.

                  remote-pin-server admin wallet list --lab /tmp/lab
                  remote-pin-server admin wallet list --state blocked --state blocked-permanently --lab /tmp/lab
                  remote-pin-server admin wallet list --platform ios --registered-from 2026-12-01 --lab /tmp/lab
                  remote-pin-server admin wallet list --state never-opened --limit 20 --json --lab /tmp/lab
                """
        )

        @Option(
            help: ArgumentHelp("Only those in this state.", valueName: "state"),
            completion: .list(WalletCondition.allCases.map(\.rawValue))
        )
        var state: [String] = []

        @Option(help: "Only those of android or of ios.", completion: .list(Platform.allCases.map(\.rawValue)))
        var platform: String?

        @Option(help: ArgumentHelp("Only those registered at this time or later.", valueName: "time"))
        var registeredFrom: String?

        @Option(help: ArgumentHelp("Only those registered before this time.", valueName: "time"))
        var registeredBefore: String?

        @Option(help: ArgumentHelp("At most so many.", valueName: "number"))
        var limit = 1000

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            _ = try self.filter()
            guard self.limit > 0 else { throw ValidationError("--limit takes a number from 1 on.") }
        }

        private func filter() throws -> WalletFilter {
            let conditions = try self.state.map { text in
                guard let condition = WalletCondition(rawValue: text) else {
                    let known = WalletCondition.allCases.map(\.rawValue).joined(separator: ", ")
                    throw ValidationError("`\(text)` is no state; there are: \(known).")
                }
                return condition
            }
            let platform = try self.platform.map { text in
                guard let platform = Platform(rawValue: text) else {
                    throw ValidationError("`\(text)` is no platform; there are: android, ios.")
                }
                return platform
            }
            return WalletFilter(
                conditions: Set(conditions),
                platform: platform,
                registeredFrom: try self.registeredFrom.map(time),
                registeredBefore: try self.registeredBefore.map(time)
            )
        }

        func run() async throws {
            let filter = try self.filter()
            try await ending {
                let (wallets, hasMore) = try await self.server.connected { call in
                    var wallets: [ListedWallet] = []
                    var after: UInt64?
                    while true {
                        let limit = min(self.limit - wallets.count, Wire.AdminCommand.mostListed)
                        guard
                            case .walletPage(let page) = try await call(
                                .listWallets(filter, after: after, limit: limit)
                            )
                        else { throw StartFailure.unexpectedAnswer }
                        wallets += page.wallets
                        guard let next = page.next else { return (wallets, false) }
                        if wallets.count >= self.limit { return (wallets, true) }
                        after = next
                    }
                }
                let json = WalletsJSON(wallets: wallets.map(WalletsJSON.Wallet.init), hasMore: hasMore)
                self.output.print(json) { page in
                    if wallets.isEmpty { return page.line("no wallet fits") }
                    page.table(
                        ["WALLET", "STATE", "PLATFORM", "REGISTERED", "LAST SESSION", "WRONG PINS"],
                        wallets.map(\.cells)
                    )
                    if hasMore { page.line("there may be more: raise --limit") }
                }
            }
        }
    }
}

/// A time in an argument.
func time(_ text: String) throws -> Timestamp {
    guard let time = Timestamp(text: text) else {
        throw ValidationError("`\(text)` is no time; write 2026-12-24 or 2026-12-24T18:00:00Z.")
    }
    return time
}

extension ListedWallet {
    fileprivate var cells: [String] {
        [
            "\(self.walletID)", self.condition.rawValue, self.platform?.rawValue ?? "unknown", self.registeredAt.text,
            self.lastSession?.text ?? "unknown", "\(self.failures)",
        ]
    }
}

private struct WalletsJSON: Encodable {
    let wallets: [Wallet]
    /// Further ones may fit.
    let hasMore: Bool

    struct Wallet: Encodable {
        let wallet: String
        let state: String
        let platform: String?
        let registeredAt: String
        let lastSession: String?
        let failures: Int

        init(_ wallet: ListedWallet) {
            self.wallet = "\(wallet.walletID)"
            self.state = wallet.condition.rawValue
            self.platform = wallet.platform?.rawValue
            self.registeredAt = wallet.registeredAt.text
            self.lastSession = wallet.lastSession?.text
            self.failures = wallet.failures
        }
    }
}
