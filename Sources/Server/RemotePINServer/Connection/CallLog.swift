internal import Logging
internal import Transport
internal import Vocabulary

/// The log of a connection.
///
/// Each line contains the call, the peer and, during a session, the wallet. Each line also contains the correlation id
/// that is sent to the peer with a refusal. All of these values are formatted only when a line is written, so a
/// connection or PIN check that logs nothing does not pay for them.
struct CallLog: Sendable {
    private let logger: Logger
    private let connectionID: UInt64
    private let connection: ServerConnection
    /// The wallet of the session, or nil if no session has been opened.
    var wallet: WalletID?
    /// The wallet named by a call that opens a session, which has not been proven yet.
    ///
    /// Only lines about damage have it, because an operator needs the id. A stranger can cause such a line only for a
    /// wallet that is damaged.
    var namedWallet: WalletID?
    private(set) var correlationID: CorrelationID

    init(_ logger: Logger, of connection: ServerConnection, id: UInt64) {
        self.logger = logger
        self.connectionID = id
        self.connection = connection
        self.correlationID = .random()
    }

    /// Attributes subsequent log lines to this call, or to the connection if `call` is 0.
    mutating func begin(call: UInt64) {
        self.correlationID.call = call
        self.namedWallet = nil
    }

    private var metadata: Logger.Metadata {
        var values: Logger.Metadata = [
            "connection": "\(self.connectionID)", "peer": "\(self.connection.peer)",
            "correlation": "\(self.correlationID)",
        ]
        if let wallet = self.wallet { values["wallet"] = "\(wallet)" }
        return values
    }

    /// A logger for work done by other types on behalf of this call.
    var ofCall: Logger {
        var logger = self.logger
        for (key, value) in self.metadata { logger[metadataKey: key] = value }
        return logger
    }

    /// Returns whether lines of this level are currently written.
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

/// An id that connects an answer to its log lines, written as 16 hexadecimal digits.
///
/// The first ten digits are random for each connection, so that ids differ between connections, servers and restarts.
/// The last six digits are those of the peer's call id, so that the same call can be found in the peer's log. They are
/// zero for the connection itself. The id is only meant for people, and no decision depends on it: a peer that reuses a
/// call id only confuses its own log lines.
struct CorrelationID: Hashable, Sendable, CustomStringConvertible {
    private static let callBits: UInt64 = 24
    private static let callMask: UInt64 = 1 << Self.callBits - 1

    private var bits: UInt64

    /// The id of a new connection.
    static func random() -> CorrelationID { CorrelationID(bits: .random(in: .min ... .max) & ~Self.callMask) }

    /// The low bits of the call id.
    var call: UInt64 {
        get { self.bits & Self.callMask }
        set { self.bits = self.bits & ~Self.callMask | newValue & Self.callMask }
    }

    var description: String {
        let digits = String(self.bits, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
