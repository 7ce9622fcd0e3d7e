internal import ConfigText
internal import Foundation
internal import Telemetry
internal import Logging
internal import MetricsEndpoint
internal import Metrics
internal import OperatorChannels
internal import RemotePINServer
internal import ServerSettings
internal import Synchronization
internal import Transport
internal import Vault
internal import Vocabulary

/// Rereads the server's configuration and files, for SIGHUP and `admin reload`.
struct Reloading: Sendable {
    let files: ServerFiles
    let inForce: SettingsInForce
    let server: RemotePINServer
    let listeners: Listeners
    let hooks: EventHooks
    let supervision: Supervision
    let meters: ReloadMeters
    let output: LogOutput
    let log: Logger

    /// Reloads each part.
    ///
    /// If a part cannot be read, the problem is reported and the old value stays in use.
    func run() async -> [ReloadedPart] {
        await self.supervision.reloading {
            var parts = [self.inForce.reload(log: self.log) { self.apply($0, $1) }]
            if self.files.settings[SettingTable.logFile] != nil { parts.append(self.reopenLog()) }
            parts.append(self.reloadCertificate())
            parts.append(await self.reloadVaultKeys())
            parts += await self.server.reload()
            parts += await self.listeners.renew()
            self.meters.note(parts)
            return parts
        }
    }

    /// Passes changed settings to the parts of the server that use them.
    ///
    /// Balancers are read from the settings in effect.
    private func apply(_ settings: ServerSettings, _ changed: [any SettingDeclaration]) {
        // Apply the level only if it has changed. Otherwise, reloading for a new certificate would undo `admin
        // log-level`.
        if changed.contains(where: { $0.name == SettingTable.logLevel.name }) {
            self.output.level = Logger.Level(settings[SettingTable.logLevel])
        }
        // Replace the receivers only if they have changed. Otherwise, each reload would restart the hook program.
        if changed.contains(where: { $0.section == "hook" }) { self.hooks.use(settings) }
        self.server.use(SourceLimits(settings))
        self.listeners.wallets.limit(connectionsPerSource: settings[SettingTable.connectionsPerSource])
    }

    private func reopenLog() -> ReloadedPart {
        var problem: String?
        do { try self.output.reopen() } catch { problem = "\(error)" }
        return ReloadedPart("log file", problem: problem)
    }

    private func reloadCertificate() -> ReloadedPart {
        do {
            try self.files.reloadTLS()
            self.log.notice("certificate reloaded")
            return ReloadedPart("certificate")
        } catch {
            self.log.error("the old certificate stays", metadata: ["reason": "\(error)"])
            return ReloadedPart("certificate", problem: "\(error)")
        }
    }

    private func reloadVaultKeys() async -> ReloadedPart {
        do throws(KeyFileError) {
            try await self.files.vault.reload()
            return ReloadedPart("vault keys")
        } catch {
            self.log.error("the old vault keys stay", metadata: ["reason": "\(error)"])
            return ReloadedPart("vault keys", problem: "\(error)")
        }
    }
}

/// Counts reloads by outcome and exports the time of the last reload with each outcome, so that stale files can be
/// detected.
final class ReloadMeters: Sendable {
    private let done: Counter
    private let refused: Counter
    private let clock: any WallClock
    private let lastDone: Atomic<Int64>
    /// The time of the last failed reload, or `Int64.min` if there is none.
    private let lastRefused = Atomic<Int64>(.min)

    /// Creates the meters and counts the start as a successful reload.
    init(_ registry: MetricRegistry, clock: any WallClock) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_reloads_total", dimensions: [("outcome", outcome)], factory: registry)
        }
        self.done = counter("done")
        self.refused = counter("refused")
        self.clock = clock
        self.lastDone = Atomic(clock.now().milliseconds)
        let time = "remote_pin_reload_timestamp_seconds"
        registry.probe(time, [("outcome", "done")]) { Self.seconds(self.lastDone.load(ordering: .relaxed)) }
        registry.probe(time, [("outcome", "refused")]) { Self.seconds(self.lastRefused.load(ordering: .relaxed)) }
    }

    /// Records the outcome of a reload.
    func note(_ parts: [ReloadedPart]) {
        let now = self.clock.now().milliseconds
        if parts.allSatisfy(\.reloaded) {
            self.done.increment()
            self.lastDone.store(now, ordering: .relaxed)
        } else {
            self.refused.increment()
            self.lastRefused.store(now, ordering: .relaxed)
        }
    }

    private static func seconds(_ milliseconds: Int64) -> Double? {
        milliseconds == .min ? nil : Double(milliseconds) / 1000
    }
}
