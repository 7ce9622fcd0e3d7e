internal import Foundation
internal import HostSystem
package import Logging
package import ServerSettings
internal import Synchronization

/// The destination of log lines: standard error, or a file that can be reopened after rotation.
///
/// A separate thread writes the lines, so that neither a reader nor a disk delays a caller.
package final class LogOutput: Sendable {
    private let path: String?
    private let lines: QueuedOutput
    private let lowest = Mutex(Logger.Level.info)

    /// Opens the file, or uses standard error if the path is nil.
    package init(path: String?) throws {
        self.path = path
        self.lines =
            if let path {
                QueuedOutput(takingOwnershipOf: try Self.open(path))
            } else {
                StandardStreams.queuedError
            }
    }

    /// Returns a handler that writes to this output.
    package func handler(_ format: LogFormatSetting, level: Logger.Level) -> LineLogHandler {
        self.level = level
        self.lines.reportDropped {
            LineLogHandler.line(.warning, "log lines were dropped", ["count": "\($0)"], format)
        }
        return LineLogHandler(output: self, format: format)
    }

    /// The minimum level to write, for all loggers that use this output.
    package var level: Logger.Level {
        get { self.lowest.withLock { $0 } }
        set { self.lowest.withLock { $0 = newValue } }
    }

    /// The number of lines that were dropped because nothing read them, or that the disk did not take.
    package var droppedCount: Int { self.lines.droppedCount }

    /// Reopens the file after log rotation.
    ///
    /// Keeps the current file if that fails.
    package func reopen() throws {
        guard let path else { return }
        self.lines.replace(takingOwnershipOf: try Self.open(path))
    }

    /// Queues a line, and drops the least important ones if the queue is full.
    func write(_ line: String, _ importance: LineImportance) { self.lines.write(line, importance: importance) }

    private static func open(_ path: String) throws -> Int32 { try OutputFile.openForAppending(path, mode: 0o640) }
}

/// A handler that writes one line per event, as text or JSON.
package struct LineLogHandler: LogHandler {
    let output: LogOutput
    let format: LogFormatSetting
    /// The logger's own level if set, otherwise the output's.
    package var logLevel: Logger.Level {
        get { self.ownLevel ?? self.output.level }
        set { self.ownLevel = newValue }
    }
    private var ownLevel: Logger.Level?
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    init(output: LogOutput, format: LogFormatSetting) {
        self.output = output
        self.format = format
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let message = "\(event.message)"
        let values = self.metadata.merging(event.metadata ?? [:]) { $1 }
        let importance: LineImportance =
            switch event.level {
            case .trace, .debug: .low
            // The marks of the audit log, without which its end could be cut off unnoticed (AuditMark.init(newestIn:)).
            case .notice where message == "audit log": .high
            case .info, .notice, .warning, .error, .critical: .normal
            }
        self.output.write(Self.line(event.level, message, values, self.format), importance)
    }

    /// Returns a log line.
    static func line(
        _ level: Logger.Level,
        _ message: String,
        _ metadata: Logger.Metadata,
        _ format: LogFormatSetting
    ) -> String {
        let values = metadata.sorted { $0.key < $1.key }
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        switch format {
        case .text:
            let fields = values.map { " \($0.key)=\(Self.word("\($0.value)"))" }.joined()
            return "\(time) \(level) \(message)\(fields)\n"
        case .json:
            let fields = values.map { ",\(Self.quoted($0.key)):\(Self.quoted("\($0.value)"))" }.joined()
            let head = "\"time\":\"\(time)\",\"level\":\"\(level)\",\"message\":\(Self.quoted(message))"
            return "{\(head)\(fields)}\n"
        }
    }

    /// Quotes a value unless it is a single plain word, so that no value can imitate another field or line.
    private static func word(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x3D }
        return isPlain ? text : Self.quoted(text)
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
                // C0 and C1 control characters, which would take effect on a terminal showing the log.
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension Logger.Level {
    /// Creates the level named in the settings.
    package init(_ setting: LogLevelSetting) {
        switch setting {
        case .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        }
    }
}
