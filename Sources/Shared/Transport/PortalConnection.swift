package import Wire

/// The deletion portal's connection to the server running on this machine.
package final class PortalConnection: Sendable {
    private let calls: PendingCalls<PortalResult>

    private init(_ calls: PendingCalls<PortalResult>) {
        self.calls = calls
    }

    /// Connects to a server's Unix socket.
    ///
    /// Throws ``ConnectError/refused`` if the server is not running.
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

    /// Closes the connection gracefully.
    package func close() {
        self.calls.close()
    }
}
