package import Vocabulary
package import WalletFlows
package import Wire

/// A channel for calls to the server: a TLS connection, a simulated network, or a test double.
package protocol CallChannel: Sendable {
    /// The keying material exported by both ends. It is part of every statement signed for this connection.
    var channelBinding: ChannelBinding { get }

    /// Sends a call and waits for the answer, up to the channel's time limit.
    func call(_ call: Call) async throws(CallChannelError) -> CallResult

    /// Sends all calls without waiting for answers in between, and returns the answers in the same order.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>]

    /// Closes the connection, if it is still open.
    func close() async
}

extension CallChannel {
    /// Sends each call after the previous one has been answered.
    package func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        await self.callOneByOne(calls)
    }

    /// Sends each call after the previous one has been answered.
    package func callOneByOne(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        var results: [Result<CallResult, CallChannelError>] = []
        for call in calls { results.append(await self.result(of: call)) }
        return results
    }

    /// Sends a call and returns the answer, or the error if no answer arrived.
    package func result(of call: Call) async -> Result<CallResult, CallChannelError> {
        do throws(CallChannelError) {
            return .success(try await self.call(call))
        } catch {
            return .failure(error)
        }
    }
}

/// Opens connections to a server.
package protocol ServerDialer: Sendable {
    /// The host and port, as shown to the user.
    var address: String { get }

    /// Opens a connection and completes the handshake.
    func dial() async throws(DialError) -> any CallChannel
}

/// An error that prevented a connection from being opened, so no call was sent.
package enum DialError: Error, Hashable, Sendable {
    /// The device is offline: it has no route or no DNS.
    case noInternet
    /// The device is online, but the server does not answer, or a different host answers in its place.
    case unreachable(FailureCause)
}

/// An error from a call that was not answered.
///
/// The server may or may not have executed it.
package enum CallChannelError: Error, Hashable, Sendable {
    /// The connection was lost or timed out.
    ///
    /// Repeat the call on a new connection with the same attempt id.
    case lost
    /// The answer violates the protocol: do not repeat the call.
    case malformed
}
