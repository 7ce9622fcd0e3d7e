internal import Administration
internal import Telemetry
internal import Logging

extension LogOutput {
    /// Sets the level named in an admin command, if any, and replies with the level in effect.
    func setLevel(_ wanted: LogLevel?, log: Logger) -> SetLogLevel.Reply {
        // No setting and no command has another level.
        let before = LogLevel.allCases.first { Logger.Level($0) == self.level } ?? .info
        if let wanted, wanted != before {
            log.notice("log level set", metadata: ["level": "\(wanted.rawValue)"])
            self.level = Logger.Level(wanted)
        }
        return SetLogLevel.Reply(level: wanted ?? before, changed: wanted.map { $0 != before } ?? false)
    }
}

extension Logger.Level {
    /// Converts an admin protocol log level, whose names are also those of the log.
    fileprivate init(_ level: LogLevel) { self = Logger.Level(rawValue: level.rawValue) ?? .info }
}
