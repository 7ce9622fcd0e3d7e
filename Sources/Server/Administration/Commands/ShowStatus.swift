internal import AdminProtocol
package import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import RemotePINServer
internal import ServerSettings
package import StoreMaintenance
package import Vocabulary
internal import WalletStore

/// `status`: shows the state of the server.
///
/// Event totals, such as PINs entered and commits, start at zero when the server starts.
package struct ShowStatus: AdminCall {
    package static let name = "status"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .observer }

    package init() {}

    package struct Reply: Codable, Sendable {
        package var version: String
        package var now: Timestamp
        /// The start time according to the machine's clock, even in a lab.
        package var startedAt: Timestamp
        package var uptimeMs: Int64
        package var solutionRevoked: Bool
        /// The number of open connections, with or without a session.
        package var connections: Int
        /// The number of open sessions.
        package var sessions: Int
        package var wallets: [WalletCondition: Int]
        package var pins: PINs
        package var commits: Commits
        package var vaultKeys: Keys
        /// The epoch of the store, which increases with each restore.
        package var epoch: Int
        /// The expiry of the certificate; omitted if unknown.
        package var certificateExpiresAt: Timestamp?
        /// The state of the status list; omitted if no list is configured.
        package var statusList: StatusList?
        /// The newest audit log entry before the one for this command.
        package var audit: Entry
        package var logLevel: LogLevel
        /// The progress of resealing; omitted if nothing has been resealed since the start.
        package var reseal: ResealProgress?
        /// The number of wallets that have not replaced their shares since the last `vault refresh-shares`.
        package var sharesToReplace: Int
        /// The server that these figures are for, and all servers of the store; omitted for an embedded store.
        package var cluster: ClusterView?
    }

    /// The number of PINs entered since the start, by outcome.
    package struct PINs: Codable, Hashable, Sendable {
        package var valid: Int
        /// The number of wrong PINs, including those that caused a block.
        package var wrong: Int
        /// The number of PINs that were not checked because the wallet was blocked.
        package var blocked: Int
    }

    /// Commit durations, from the first step until the data has been synced.
    package struct Commits: Codable, Sendable {
        package var count: Int
        package var medianUs: Int64
        package var p99Us: Int64
    }

    package struct Keys: Codable, Sendable {
        /// The versions in ascending order.
        package var versions: [UInt32]
        /// The version used for sealing.
        package var active: UInt32
    }

    package struct StatusList: Codable, Sendable {
        package var fetchedAt: Timestamp
        package var ageMs: Int64
        package var stale: Bool
    }

    package struct Entry: Codable, Sendable {
        package var number: UInt64
        package var mac: String
    }

    package func run(in service: AdminService) async throws -> Reply {
        let (server, operations) = (service.server, service.operations)
        let (now, uptime, figures) = (server.clock.now(), server.uptime, server.figures)
        let commits = server.store.commitLatency.summary()
        let keys = operations.keyVersions()
        let list = server.statusListAge(at: now)
        let maintenance = operations.maintenance.report()
        return Reply(
            version: operations.version,
            now: now,
            startedAt: SystemClock().now() + (.zero - uptime),
            uptimeMs: uptime.milliseconds,
            solutionRevoked: try await server.store.isSolutionRevoked(),
            connections: figures.connections,
            sessions: figures.sessions,
            wallets: try await Self.walletCounts(in: service, at: now),
            pins: PINs(
                valid: figures.validPINs,
                wrong: figures.wrongPINs,
                blocked: figures.blockedPINs + figures.permanentlyBlockedPINs
            ),
            commits: Commits(
                count: commits.count,
                medianUs: commits.median.microseconds,
                p99Us: commits.p99.microseconds
            ),
            vaultKeys: Keys(versions: keys.all, active: keys.active),
            epoch: maintenance.epoch,
            certificateExpiresAt: operations.certificateExpiry(),
            statusList: list.fetched.map {
                StatusList(fetchedAt: $0, ageMs: (now - $0).milliseconds, stale: list.isStale)
            },
            audit: Entry(number: server.audit.newest.number, mac: server.audit.newest.mac),
            logLevel: operations.logLevel(nil).level,
            reseal: maintenance.reseal,
            sharesToReplace: try await operations.maintenance.unconfirmedShares(),
            cluster: service.cluster
        )
    }

    private static func walletCounts(
        in service: AdminService,
        at now: Timestamp
    ) async throws -> [WalletCondition: Int] {
        var counts = Dictionary(uniqueKeysWithValues: WalletCondition.allCases.map { ($0, 0) })
        var after: UInt64?
        while true {
            let listings = try await service.server.store.listing(after: after, limit: StoredListing.countPerStep)
            for listing in listings {
                counts[listing.condition(policy: service.server.rules.attempts, now: now), default: 0] += 1
            }
            guard listings.count == StoredListing.countPerStep, let last = listings.last else { return counts }
            after = last.cursor
        }
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the server's state: sessions, wallets, PINs, commits, keys and expiry dates.",
            discussion: """
                Reads every wallet, some hundreds at a time. With millions of wallets it takes some seconds and delays \
                no PIN. Monitor a server with its metrics instead: each command adds an entry to the audit log.

                  remote-pin-server admin status --lab /tmp/lab
                  remote-pin-server admin status --json --lab /tmp/lab | jq .wallets.blocked
                """
        )

        @OptionGroup var options: CallOptions

        func call() -> ShowStatus { ShowStatus() }

        func draw(_ reply: Reply, on page: inout Page) {
            let wallets = WalletCondition.allCases.map { "\(reply.wallets[$0] ?? 0) \($0.spoken)" }
            let keys = reply.vaultKeys.versions.map { $0 == reply.vaultKeys.active ? "\($0) (seals)" : "\($0)" }
            page.facts([
                ("server", reply.cluster?.text ?? "the only one of its store"),
                ("version", reply.version),
                ("up", "\(Duration.milliseconds(reply.uptimeMs).spoken), since \(reply.startedAt.text)"),
                ("time", reply.now.text),
                ("solution", reply.solutionRevoked ? page.bad("revoked") : page.good("in service")),
                ("connections", "\(reply.connections), \(reply.sessions) with a session"),
                ("wallets", wallets.joined(separator: ", ")),
                ("PINs", "\(reply.pins.valid) valid, \(reply.pins.wrong) wrong, \(reply.pins.blocked) while blocked"),
                ("commits", reply.commits.text),
                ("vault keys", keys.joined(separator: ", ") + (reply.reseal.map { "; \($0.spoken)" } ?? "")),
                (
                    "shares",
                    reply.sharesToReplace == 0
                        ? "current" : "\(reply.sharesToReplace) wallets have yet to replace theirs"
                ),
                ("epoch", "\(reply.epoch)"),
                ("certificate", self.certificate(reply, page)),
                ("status list", self.statusList(reply, page)),
                ("audit log", "\(reply.audit.number):\(reply.audit.mac)"),
                ("log level", reply.logLevel.rawValue),
            ])
        }

        private func certificate(_ reply: Reply, _ page: Page) -> String {
            guard let expiry = reply.certificateExpiresAt else { return "of unknown expiry" }
            guard expiry > reply.now else { return page.bad("expired on \(expiry.text)") }
            return "expires in \((expiry - reply.now).spoken), on \(expiry.text)"
        }

        private func statusList(_ reply: Reply, _ page: Page) -> String {
            guard let list = reply.statusList else { return "none" }
            let age = list.ageMs > 0 ? "\(Duration.milliseconds(list.ageMs).spoken) old" : "new"
            return list.stale ? page.bad(age + ", too old") : age
        }
    }
}

extension ShowStatus.Commits {
    fileprivate var text: String {
        func milliseconds(_ us: Int64) -> String {
            let rest = "\(us / 10 % 100)"
            return "\(us / 1000).\(rest.count < 2 ? "0" : "")\(rest) ms"
        }
        guard self.count > 0 else { return "none" }
        return "\(self.count), half within \(milliseconds(self.medianUs)), 99 of 100 within \(milliseconds(self.p99Us))"
    }
}

extension WalletCondition {
    /// A sentence describing the condition.
    fileprivate var spoken: String { self.rawValue.map { $0 == "-" ? " " : String($0) }.joined() }
}
