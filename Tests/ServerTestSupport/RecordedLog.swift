package import Logging
internal import Synchronization

/// A log that tests can read.
package final class RecordedLog: Sendable {
    private let recorded = Mutex<[String]>([])

    package init() {}

    /// The lines with their metadata.
    package var lines: [String] { self.recorded.withLock { $0 } }

    package var handler: Handler { Handler(log: self) }

    package struct Handler: LogHandler {
        package let log: RecordedLog
        package var logLevel = Logger.Level.trace
        package var metadata: Logger.Metadata = [:]

        package init(log: RecordedLog) { self.log = log }

        package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        package func log(event: LogEvent) {
            let values = self.metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            let line = "\(event.level) \(event.message)" + values.map { " \($0.key)=\($0.value)" }.joined()
            self.log.recorded.withLock { $0.append(line) }
        }
    }
}
