package import AdminProtocol
package import ArgumentParser
internal import PINPolicy
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary
internal import WalletStore

/// `wallet list`: lists the wallets that match all filters, in order of registration.
package struct ListWallets: AdminCall {
    package static let name = "wallet list"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .support }

    /// The states to list.
    ///
    /// If empty, every state matches.
    package var states: Set<WalletCondition> = []
    package var platform: Platform?
    package var registeredFrom: Timestamp?
    package var registeredBefore: Timestamp?
    /// The value of `next` from the previous page, or nil for the first page.
    package var after: UInt64?
    package var limit = ListWallets.limits.upperBound

    /// The allowed page sizes.
    ///
    /// The largest page fits in a frame.
    package static let limits = 1...200
    /// The maximum number of wallets read by one call.
    ///
    /// Once it is reached, the call returns its page even if the page is not full.
    private static let readPerPage = 20_000

    package struct Reply: Codable, Sendable {
        /// The wallets on this page.
        ///
        /// May be empty even if there are more pages.
        package var wallets: [Wallet]
        /// Whether there may be more wallets.
        package var hasMore: Bool
        /// The value of `after` for the next page.
        ///
        /// Omitted on the last page.
        package var next: UInt64?
    }

    package struct Wallet: Codable, Hashable, Sendable {
        package var wallet: WalletID
        package var state: WalletCondition
        /// The attested platform; omitted if the attestation does not contain it.
        package var platform: Platform?
        package var registeredAt: Timestamp
        /// The start of the last session; omitted if the server knows of none.
        package var lastSession: Timestamp?
        /// The number of wrong PINs since the last correct one; omitted if the attempt record is damaged.
        package var failures: Int?
    }

    package func validate() throws(AdminFailure) { try self.limit.mustBe(in: Self.limits, "limit") }

    package func run(in service: AdminService) async throws -> Reply {
        let (server, attempts) = (service.server, service.server.rules.attempts)
        let now = server.clock.now()
        var (wallets, next, count): ([Wallet], UInt64?, Int) = ([], self.after, 0)
        while count < Self.readPerPage {
            let listings = try await server.store.listing(after: next, limit: StoredListing.countPerStep)
            count += listings.count
            for listing in listings {
                next = listing.cursor
                let wallet = Wallet(
                    wallet: listing.walletID,
                    state: listing.condition(policy: attempts, now: now),
                    platform: listing.platform,
                    registeredAt: listing.registeredAt,
                    lastSession: server.unsavedLastSession(of: listing.walletID) ?? listing.lastSession,
                    failures: listing.attempts(under: attempts)?.failures
                )
                if self.matches(wallet) { wallets.append(wallet) }
                // Reading the next page will show whether there are more wallets.
                if wallets.count == self.limit { return Reply(wallets: wallets, hasMore: true, next: next) }
            }
            if listings.count < StoredListing.countPerStep { return Reply(wallets: wallets, hasMore: false) }
        }
        return Reply(wallets: wallets, hasMore: true, next: next)
    }

    private func matches(_ wallet: Wallet) -> Bool {
        if !self.states.isEmpty, !self.states.contains(wallet.state) { return false }
        if let platform, platform != wallet.platform { return false }
        if let from = self.registeredFrom, wallet.registeredAt < from { return false }
        if let before = self.registeredBefore, wallet.registeredAt >= before { return false }
        return true
    }

    package var page: ListPage? { self.after.map { ListPage(of: self.filtered, after: "\($0)") } }

    package func page(after reply: Reply) -> ListPage? {
        reply.next.map { ListPage(of: self.filtered, after: "\($0)") }
    }

    /// The list and its filters, since pages with different filters belong to different lists.
    private var filtered: String {
        let states = self.states.map(\.rawValue).sorted().joined(separator: ",")
        let times = [self.registeredFrom, self.registeredBefore].map { $0.map { "\($0.milliseconds)" } ?? "" }
        return "\(Self.name) \(states) \(self.platform?.rawValue ?? "") \(times.joined(separator: " "))"
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List wallets in the order of their registration: all, or those that match.",
            discussion: """
                States: open, blocked, blocked-permanently, never-opened, revoked, damaged. --state may be repeated.

                  remote-pin-server admin wallet list --lab /tmp/lab
                  remote-pin-server admin wallet list --state blocked \\
                    --state blocked-permanently --lab /tmp/lab
                  remote-pin-server admin wallet list --platform ios \\
                    --registered-from 2026-12-01 --lab /tmp/lab
                  remote-pin-server admin wallet list --state never-opened --limit 20 --json \\
                    --lab /tmp/lab
                """
        )

        @Option(help: "Only wallets in this state.")
        var state: [WalletCondition] = []

        @Option(help: "Only wallets on android or ios.")
        var platform: Platform?

        @Option(
            help: ArgumentHelp("Only wallets registered at this time or later.", valueName: "time"),
            transform: time
        )
        var registeredFrom: Timestamp?

        @Option(help: ArgumentHelp("Only wallets registered before this time.", valueName: "time"), transform: time)
        var registeredBefore: Timestamp?

        @Option(help: ArgumentHelp("The maximum number of wallets.", valueName: "number"))
        var limit = 1000

        @OptionGroup var options: CallOptions

        func validate() throws {
            guard self.limit > 0 else { throw ValidationError("--limit takes a number from 1 on.") }
        }

        func call() -> ListWallets {
            ListWallets(
                states: Set(self.state),
                platform: self.platform,
                registeredFrom: self.registeredFrom,
                registeredBefore: self.registeredBefore
            )
        }

        func reply(to call: ListWallets, from server: OperatorConnection) async throws -> Reply {
            var (call, all) = (call, Reply(wallets: [], hasMore: true))
            while all.hasMore, all.wallets.count < self.limit {
                call.limit = min(self.limit - all.wallets.count, ListWallets.limits.upperBound)
                let page = try await server.call(call)
                all.wallets += page.wallets
                (all.hasMore, call.after) = (page.hasMore, page.next)
            }
            return all
        }

        func draw(_ reply: Reply, on page: inout Page) {
            if reply.wallets.isEmpty { return page.line("no wallet matches") }
            let rows = reply.wallets.map { wallet in
                [
                    "\(wallet.wallet)", wallet.state.rawValue, wallet.platform?.rawValue ?? "unknown",
                    wallet.registeredAt.text, wallet.lastSession?.text ?? "unknown",
                    wallet.failures.map { "\($0)" } ?? "unknown",
                ]
            }
            page.table(["WALLET", "STATE", "PLATFORM", "REGISTERED", "LAST SESSION", "WRONG PINS"], rows)
            if reply.hasMore { page.line("there may be more: raise --limit") }
        }
    }
}
