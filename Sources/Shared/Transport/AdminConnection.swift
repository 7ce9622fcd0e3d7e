package import Wire

/// An operator's connection to the server that runs on this machine.
package final class AdminConnection: Sendable {
    private let calls: PendingCalls<AdminResult>

    private init(_ calls: PendingCalls<AdminResult>) {
        self.calls = calls
    }

    /// Connects to a server's Unix socket; ``ConnectError/refused`` when no server runs.
    package static func connect(path: String, timeout: Duration) async throws(ConnectError) -> AdminConnection {
        let calls = try await PendingCalls.connect(unixSocket: path, timeout: timeout) { frame throws(WireError) in
            let response = try AdminResponse(decoding: frame)
            return (response.id, response.result)
        }
        return AdminConnection(calls)
    }

    /// Gives a command and waits until it is done.
    package func call(_ command: AdminCommand, timeout: Duration) async throws(CallError) -> AdminResult {
        try await self.calls.call(timeout: timeout) { id in AdminRequest(id: id, command: command).encoded() }
    }

    /// Ends the connection in an orderly way.
    package func close() {
        self.calls.close()
    }

    /// Waits until the connection has ended.
    package func closed() async {
        await self.calls.closed()
    }
}
