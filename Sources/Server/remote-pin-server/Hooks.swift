internal import EventHooks
internal import Foundation
internal import HostSystem
internal import Logging
internal import Metrics
internal import ServerCommandLine
internal import ServerSettings
internal import Vocabulary

/// Creates the hooks that an operator's settings describe.
enum Hooks {
    /// Returns nil if no hook is configured.
    static func make(
        _ settings: ServerSettings,
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory
    ) -> EventHooks? {
        EventHooks.announce(to: metrics)
        var receivers: [any EventReceiver] = []
        if let path = settings[SettingTable.hookProgram] {
            receivers.append(ProgramReceiver(path: path, arguments: settings[SettingTable.hookArguments]))
        }
        if let path = settings[SettingTable.hookSocket] { receivers.append(SocketReceiver(path: path)) }
        guard !receivers.isEmpty else { return nil }
        var limits = EventHooks.Limits()
        limits.capacity = settings[SettingTable.hookQueue]
        return EventHooks(receivers, limits: limits, clock: clock, log: log, metrics: metrics)
    }

    /// Checks that the hook program can be started; a socket may appear after the server starts.
    static func check(_ settings: ServerSettings) throws {
        guard let path = settings[SettingTable.hookProgram] else { return }
        guard !DurableFile.isFolder(path), FileManager.default.isExecutableFile(atPath: path) else {
            throw StartFailure(
                .configuration,
                "`hook.program`: \(path) is not a program that this user may run; check its path and mode"
            )
        }
    }
}
