internal import AuditLog
internal import ConfigText
internal import Crypto
internal import HostSystem
internal import Telemetry
internal import Logging
internal import PostgreSQLStore
internal import ServerSettings
internal import ServiceLifecycle
internal import StoreMaintenance
internal import Vocabulary
internal import WalletStore

/// Writes what a running server records about itself: its start and stop in the audit log, and its commits in the
/// server's log.
struct ServerRecords: Sendable {
    let audit: AuditLog
    let store: any ServedStore
    let log: Logger

    /// Records the start with the version, the attempt policy, and a digest of the settings.
    func recordStart(_ settings: ServerSettings) async {
        let policy = settings.attemptPolicy
        let blocks = policy.blocks.map { "\($0)" }.joined(separator: ", ")
        let git = BuildID.git.map { " (git \($0))" } ?? ""
        let detail =
            "version \(Version.number)\(git), \(policy.rounds) rounds of \(policy.attemptsPerRound), "
            + "blocks [\(blocks)], settings \(Self.digest(of: settings))"
        await self.record(.started, detail: detail)
    }

    /// Records the stop.
    ///
    /// Afterwards, the store names the last entry in the log.
    func recordStop() async { await self.record(.stopped, detail: nil) }

    /// Records an event without failing: a full disk must not prevent a start or a stop, since PIN checks need no
    /// entry.
    private func record(_ event: AuditEvent, detail: String?) async {
        do {
            // The logs name each other's servers, so that an epoch is not opened without one of them.
            let servers = try? await (self.store as? PostgreSQLWalletStore)?.servers().map(\.name)
            let done = AuditPhase.done(of: nil, result: "")
            try await self.audit.append(event, by: .server, done, detail: detail, servers: servers)
            try await self.store.keepAuditMark()
        } catch {
            self.log.error(
                "not on record",
                metadata: ["event": "\(event.rawValue)", "detail": "\(detail ?? "")", "reason": "\(error)"]
            )
        }
    }

    /// Returns a digest of all settings as printed by `config show`.
    ///
    /// Secret values are not included.
    private static func digest(of settings: ServerSettings) -> String {
        let lines = settings.rows.map { "\($0.name)=\($0.value ?? "")\n" }.joined()
        return "sha256 " + Array(SHA256.hash(data: Array(lines.utf8)).prefix(16)).hex
    }

    /// Logs each new generation of the store together with the newest entry, at most once a second.
    ///
    /// A log collector on another machine can then show that the store was replaced with an older one.
    func announceGenerations() async {
        let announce = Self.announcing(to: self.store, log: self.log)
        await cancelWhenGracefulShutdown {
            var last = self.store.generation
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                guard self.store.generation != last else { continue }
                last = self.store.generation
                announce(self.audit.newest)
            }
        }
    }

    /// Returns a function that passes each new entry to the store and the server's log.
    static func announcing(to store: any ServedStore, log: Logger) -> @Sendable (AuditMark) -> Void {
        // The marks are logged regardless of the log level. Without them, a truncated audit log could not be detected.
        var stream = log
        stream.logLevel = .notice
        let marks = stream
        return { newest in
            store.announce(StoredAuditMark(newest))
            marks.notice("audit log", metadata: ["newest": "\(newest)", "generation": "\(store.generation)"])
        }
    }
}
