internal import Logging

/// The log of one connection, whose lines name the call that they are about.
///
/// Each line carries the correlation id that the peer is told where a call is refused. It is put together when a line is
/// written and not for each call, so that a check of a PIN of which nothing is logged pays nothing for it.
struct CallLog: Sendable {
    private var logger: Logger
    private(set) var correlationID: CorrelationID

    init(_ logger: Logger, connection: CorrelationID = .random()) {
        self.logger = logger
        self.correlationID = connection
    }

    /// What follows is about this call of the peer's; 0 for the connection itself.
    mutating func begin(call: UInt64) { self.correlationID.call = call }

    /// For whatever is done on behalf of this call elsewhere.
    var ofCall: Logger {
        var logger = self.logger
        logger[metadataKey: "correlation"] = "\(self.correlationID)"
        return logger
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { self.logger[metadataKey: key] }
        set { self.logger[metadataKey: key] = newValue }
    }

    /// Whether lines of this level are written at present.
    func writes(_ level: Logger.Level) -> Bool { level >= self.logger.logLevel }

    func log(
        level: Logger.Level,
        _ message: @autoclosure () -> Logger.Message,
        metadata: @autoclosure () -> Logger.Metadata = [:]
    ) {
        guard self.writes(level) else { return }
        var values = metadata()
        values["correlation"] = "\(self.correlationID)"
        self.logger.log(level: level, message(), metadata: values)
    }

    func debug(_ message: @autoclosure () -> Logger.Message, metadata: @autoclosure () -> Logger.Metadata = [:]) {
        self.log(level: .debug, message(), metadata: metadata())
    }

    func info(_ message: @autoclosure () -> Logger.Message, metadata: @autoclosure () -> Logger.Metadata = [:]) {
        self.log(level: .info, message(), metadata: metadata())
    }

    func notice(_ message: @autoclosure () -> Logger.Message, metadata: @autoclosure () -> Logger.Metadata = [:]) {
        self.log(level: .notice, message(), metadata: metadata())
    }
}

/// Leads from an answer to the lines in the log; sixteen hexadecimal digits.
///
/// The first ten are the connection's own and random, so that ids of other connections, servers and starts differ. The
/// last six are the end of the id that the peer gave its call, so that its own log finds the same call; zero stands for the
/// connection itself. It is a name for people and nothing hangs on it: a peer that repeats an id confuses its own lines only.
struct CorrelationID: Hashable, Sendable, CustomStringConvertible {
    private static let callBits: UInt64 = 24
    private static let callMask: UInt64 = 1 << Self.callBits - 1

    private var bits: UInt64

    /// Of a connection.
    static func random() -> CorrelationID { CorrelationID(bits: .random(in: .min ... .max) & ~Self.callMask) }

    /// The end of the call's id.
    var call: UInt64 {
        get { self.bits & Self.callMask }
        set { self.bits = self.bits & ~Self.callMask | newValue & Self.callMask }
    }

    var description: String {
        let digits = String(self.bits, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
