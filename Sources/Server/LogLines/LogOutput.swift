internal import Foundation
internal import HostSystem
package import Logging
package import ServerSettings
internal import Synchronization

/// The destination of log lines: standard error, or a file that can be reopened after rotation.
package final class LogOutput: Sendable {
    private let path: String?
    private let file: Mutex<FileHandle?>
    private let lowest = Mutex(Logger.Level.info)

    /// Opens the file, or uses standard error if the path is nil.
    package init(path: String?) throws {
        self.path = path
        self.file = Mutex(try path.map(Self.open))
    }

    /// Returns a handler that writes to this output.
    package func handler(_ format: LogFormatSetting, level: Logger.Level) -> LineLogHandler {
        self.level = level
        return LineLogHandler(output: self, format: format)
    }

    /// The minimum level to write, for all loggers that use this output.
    package var level: Logger.Level {
        get { self.lowest.withLock { $0 } }
        set { self.lowest.withLock { $0 = newValue } }
    }

    /// Reopens the file after log rotation.
    ///
    /// Keeps the current file if that fails.
    package func reopen() throws {
        guard let path else { return }
        let fresh = try Self.open(path)
        self.file.withLock { $0 = fresh }
    }

    /// Writes a line.
    ///
    /// If the write fails, for example on a full disk, the line is lost and nothing is reported.
    package func write(_ line: String) {
        let isWritten = self.file.withLock { file in
            guard let file else { return false }
            try? file.write(contentsOf: Array(line.utf8))
            return true
        }
        if !isWritten { StandardStreams.writeError(line) }
    }

    private static func open(_ path: String) throws -> FileHandle {
        FileHandle(fileDescriptor: try OutputFile.openForAppending(path, mode: 0o640), closeOnDealloc: true)
    }
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
        let values = self.metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        switch self.format {
        case .text:
            let fields = values.map { " \($0.key)=\(Self.word("\($0.value)"))" }.joined()
            self.output.write("\(time) \(event.level) \(event.message)\(fields)\n")
        case .json:
            let fields = values.map { ",\(Self.quoted($0.key)):\(Self.quoted("\($0.value)"))" }.joined()
            let head =
                "\"time\":\"\(time)\",\"level\":\"\(event.level)\",\"message\":\(Self.quoted("\(event.message)"))"
            self.output.write("{\(head)\(fields)}\n")
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
