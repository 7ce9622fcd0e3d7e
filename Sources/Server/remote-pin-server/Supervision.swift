internal import Foundation
internal import HostSystem
internal import Logging
internal import RemotePINServer
internal import Telemetry
internal import ServerSettings
internal import ServiceLifecycle
internal import UnixSignals

/// Handles signals and sends status messages to the process manager.
///
/// The manager is systemd, or another one that supports its notification protocol.
///
///     TERM ─▶ not ready ─▶ drain.delay ─▶ no new connections, pending answers sent ─▶ end, at most drain.limit later
///     TERM again ─▶ immediate end
struct Supervision: Sendable {
    /// The process manager, or nil if none expects notifications.
    private let manager: ServiceManager?
    private let log: Logger
    private let delay: Duration
    private let limit: Duration
    /// Makes load balancers choose another server.
    ///
    /// This is the first step of a stop.
    private let readinessDrops: @Sendable () -> Void
    /// Ends child processes, which would otherwise outlive this one.
    ///
    /// This is the last step before an immediate end.
    private let endsOthers: @Sendable () -> Void

    /// The time allowed for connections to end after the server closes them at the limit.
    private static let grace: Duration = .seconds(5)

    init(
        _ settings: ServerSettings,
        log: Logger,
        readinessDrops: @escaping @Sendable () -> Void,
        endsOthers: @escaping @Sendable () -> Void
    ) {
        self.manager = ServiceManager(environment: ProcessInfo.processInfo.environment)
        self.log = log
        self.delay = settings[SettingTable.drainDelay]
        self.limit = settings[SettingTable.drainLimit]
        self.readinessDrops = readinessDrops
        self.endsOthers = endsOthers
    }

    /// Runs the services until a signal stops them.
    ///
    /// - Parameter signals: Must be trapped before the server reports that it is ready, so that no signal is missed.
    func run(_ services: [any Service], _ signals: UnixSignalsSequence, _ liveness: Liveness) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [],
            logger: Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.maximumGracefulShutdownDuration = self.limit
        let group = ServiceGroup(configuration: configuration)
        ProcessEnd.limitStop(to: self.delay + self.limit + Self.grace, cleanUp: self.endsOthers) { signal in
            self.log.warning("ending at once", metadata: ["reason": "a second signal", "signal": "\(signal)"])
        }
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { await self.obey(signals, stopping: group) }
            tasks.addTask { await self.reportLife(liveness) }
            try await group.run()
            tasks.cancelAll()
        }
    }

    /// Reports that wallets can connect.
    func isReady(on address: String) {
        self.manager?.tell(.ready, .status("serving wallets on \(address)"))
    }

    /// Runs a reload and notifies the manager before and after it.
    func reloading(_ reload: () async -> [ReloadedPart]) async -> [ReloadedPart] {
        self.manager?.tell(.reloading)
        let parts = await reload()
        let kept = parts.filter { !$0.reloaded }.map { "the old \($0.name) stays" }
        let status = kept.isEmpty ? "serving wallets" : "serving wallets; \(kept.joined(separator: ", ")), see the log"
        self.manager?.tell(.ready, .status(status))
        return parts
    }

    // MARK: - Signals

    private func obey(_ signals: UnixSignalsSequence, stopping group: ServiceGroup) async {
        for await signal in signals {
            self.announceStop(signal)
            // Throws only if the task is cancelled, which means that the group has already ended.
            guard (try? await Task.sleep(for: self.delay)) != nil else { return }
            return await group.triggerGracefulShutdown()
        }
    }

    private func announceStop(_ signal: UnixSignal) {
        self.readinessDrops()
        self.log.notice(
            "stopping",
            metadata: ["signal": "\(signal)", "delay": "\(self.delay)", "limit": "\(self.limit)"]
        )
        self.manager?.tell(.stopping, .status("draining, for at most \(self.delay + self.limit)"))
    }

    // MARK: - The watchdog

    /// Notifies the manager's watchdog at half its interval while the process is alive.
    private func reportLife(_ liveness: Liveness) async {
        guard let manager, let interval = manager.watchdogInterval else { return }
        await liveness.watch(every: interval / 2) {
            manager.tell(.alive)
        } stuck: { parts in
            self.log.error(
                "no answer; the watchdog is not fed",
                metadata: ["parts": "\(parts.joined(separator: ", "))"]
            )
        }
    }
}
