internal import EventHooks
internal import Logging
internal import Metrics
internal import ServerSettings
internal import Vocabulary

/// Creates the event hooks from the server's settings.
enum Hooks {
    /// Creates the hooks when the server starts.
    ///
    /// Without receivers, they report nothing until a reload adds one.
    static func make(
        _ settings: ServerSettings,
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory
    ) -> EventHooks {
        EventHooks.announce(to: metrics)
        var limits = EventHooks.Limits()
        limits.capacity = settings[SettingTable.hookQueue]
        return EventHooks(Self.receivers(settings), limits: limits, clock: clock, log: log, metrics: metrics)
    }

    /// Creates the receivers named in the settings.
    static func receivers(_ settings: ServerSettings) -> [any EventReceiver] {
        var receivers: [any EventReceiver] = []
        if let path = settings[SettingTable.hookProgram] {
            receivers.append(ProgramReceiver(path: path, arguments: settings[SettingTable.hookArguments]))
        }
        if let path = settings[SettingTable.hookSocket] { receivers.append(SocketReceiver(path: path)) }
        return receivers
    }
}
