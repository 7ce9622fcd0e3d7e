internal import Logging
internal import Transport
internal import Vocabulary

/// The log of one connection; each line names its call, its peer and, in a session, its wallet.
///
/// Each line carries the correlation id that the peer receives with a refusal. All these values are formatted when
/// a line is written, so that a connection or a PIN check without log lines does not pay for them.
struct CallLog: Sendable {
    private let logger: Logger
    private let connectionID: UInt64
    private let connection: ServerConnection
    /// The wallet of the session, or nil before it.
    var wallet: WalletID?
    private(set) var correlationID: CorrelationID

    init(_ logger: Logger, of connection: ServerConnection, id: UInt64) {
        self.logger = logger
        self.connectionID = id
        self.connection = connection
        self.correlationID = .random()
    }

    /// Attributes the following lines to this call of the peer; 0 stands for the connection.
    mutating func begin(call: UInt64) { self.correlationID.call = call }

    private var metadata: Logger.Metadata {
        var values: Logger.Metadata = [
            "connection": "\(self.connectionID)", "peer": "\(self.connection.peer)",
            "correlation": "\(self.correlationID)",
        ]
        if let wallet = self.wallet { values["wallet"] = "\(wallet)" }
        return values
    }

    /// A logger for work that other types do for this call.
    var ofCall: Logger {
        var logger = self.logger
        for (key, value) in self.metadata { logger[metadataKey: key] = value }
        return logger
    }

    /// Whether lines of this level are currently written.
    func writes(_ level: Logger.Level) -> Bool { level >= self.logger.logLevel }

    func log(
        level: Logger.Level,
        _ message: @autoclosure () -> Logger.Message,
        metadata: @autoclosure () -> Logger.Metadata = [:]
    ) {
        guard self.writes(level) else { return }
        let values = self.metadata.merging(metadata()) { own, _ in own }
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

/// An id that links an answer to its log lines; 16 hexadecimal digits.
///
/// The first ten digits are random for each connection, so that ids differ between connections,
/// servers and restarts. The last six are the end of the peer's call id, so that the peer's log
/// finds the same call; zero stands for the connection. The id is for people and no decision
/// depends on it: a peer that repeats a call id confuses only its own lines.
struct CorrelationID: Hashable, Sendable, CustomStringConvertible {
    private static let callBits: UInt64 = 24
    private static let callMask: UInt64 = 1 << Self.callBits - 1

    private var bits: UInt64

    /// The id of a new connection.
    static func random() -> CorrelationID { CorrelationID(bits: .random(in: .min ... .max) & ~Self.callMask) }

    /// The low bits of the call's id.
    var call: UInt64 {
        get { self.bits & Self.callMask }
        set { self.bits = self.bits & ~Self.callMask | newValue & Self.callMask }
    }

    var description: String {
        let digits = String(self.bits, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
