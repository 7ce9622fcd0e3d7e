internal import Wire

/// A connection to a ``LocalListener`` on the same machine.
///
/// Every call and every answer is a single frame.
package final class LocalConnection: Sendable {
    private let calls: PendingCalls<[UInt8]>

    private init(_ calls: PendingCalls<[UInt8]>) {
        self.calls = calls
    }

    /// Connects to a Unix socket.
    ///
    /// Throws ``ConnectError/refused`` if no server is listening on it.
    ///
    /// - Parameter id: Reads the call id from an answer. If it returns nil because the bytes are not an answer, the
    ///   connection is closed.
    package static func connect(
        path: String,
        timeout: Duration,
        readingIDs id: @escaping @Sendable ([UInt8]) -> UInt64?
    ) async throws(ConnectError) -> LocalConnection {
        let calls = try await PendingCalls.connect(unixSocket: path, timeout: timeout) { frame throws(WireError) in
            guard let id = id(frame) else { throw .missing(.result, id: nil) }
            return (id, frame)
        }
        return LocalConnection(calls)
    }

    /// Sends a call and waits for the answer.
    ///
    /// - Parameter encode: Encodes the call with the given id.
    package func call(timeout: Duration, _ encode: (UInt64) -> [UInt8]) async throws(CallError) -> [UInt8] {
        try await self.calls.call(timeout: timeout, encode)
    }

    /// Closes the connection gracefully, so that calls sent earlier still reach the server.
    package func close() {
        self.calls.close()
    }

    /// Waits until the connection has ended.
    package func closed() async {
        await self.calls.closed()
    }
}
