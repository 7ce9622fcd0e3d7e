package import Wire

/// A connection to a ``LocalListener`` on the same machine.
///
/// Every call and every answer is a single frame.
package final class LocalConnection: Sendable {
    private let calls: PendingCalls<[UInt8]>

    private init(_ calls: PendingCalls<[UInt8]>) { self.calls = calls }

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
    package func close() { self.calls.close() }

    /// Waits until the connection has ended.
    package func closed() async { await self.calls.closed() }
}

/// The deletion portal's connection to the server running on this machine.
package final class PortalConnection: Sendable {
    private let calls: PendingCalls<PortalResult>

    private init(_ calls: PendingCalls<PortalResult>) { self.calls = calls }

    /// Connects to a server's Unix socket; throws ``ConnectError/refused`` if the server is not running.
    package static func connect(path: String, timeout: Duration) async throws(ConnectError) -> PortalConnection {
        let calls = try await PendingCalls.connect(unixSocket: path, timeout: timeout) { frame throws(WireError) in
            let response = try PortalResponse(decoding: frame)
            return (response.id, response.result)
        }
        return PortalConnection(calls)
    }

    /// Revokes the wallet with the given deletion code on behalf of a client at `source`.
    package func revoke(code: String, source: String, timeout: Duration) async throws(CallError) -> PortalResult {
        try await self.calls.call(timeout: timeout) { id in
            PortalRequest(id: id, code: code, source: source).encoded()
        }
    }

    package func close() { self.calls.close() }
}
