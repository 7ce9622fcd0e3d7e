package import Vocabulary
package import WalletFlows
package import Wire

/// A connection that carries calls to the server: TLS, a simulated network, or a test's server.
package protocol CallChannel: Sendable {
    /// The keying material exported by both ends, which is part of every statement signed for this connection.
    var channelBinding: ChannelBinding { get }

    /// Sends a call and waits for its answer up to the channel's time limit.
    func call(_ call: Call) async throws(CallChannelError) -> CallResult

    /// Sends all calls without waiting for answers in between; returns the answers in the order of
    /// the calls.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>]

    /// Closes the connection, or does nothing if it is closed.
    func close() async
}

extension CallChannel {
    /// Sends each call after the answer to the previous one.
    package func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        await self.callOneByOne(calls)
    }

    /// Sends each call after the previous one has been answered.
    package func callOneByOne(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        var results: [Result<CallResult, CallChannelError>] = []
        for call in calls { results.append(await self.result(of: call)) }
        return results
    }

    /// Makes a call and returns its answer, or the error if there was none.
    package func result(of call: Call) async -> Result<CallResult, CallChannelError> {
        do throws(CallChannelError) {
            return .success(try await self.call(call))
        } catch {
            return .failure(error)
        }
    }
}

/// Opens connections to one server.
package protocol ServerDialer: Sendable {
    /// Host and port, as shown to the user.
    var address: String { get }

    /// Opens a connection and completes its handshake.
    func dial() async throws(DialError) -> any CallChannel
}

/// An error that prevented a connection from being opened; no call was sent.
package enum DialError: Error, Hashable, Sendable {
    /// The device has no route or no DNS: it is offline.
    case noInternet
    /// The device has a network connection, but either the server does not answer or a different host answers in its
    /// place.
    case unreachable(FailureCause)
}

/// An error from a call that got no answer; the server may or may not have executed it.
package enum CallChannelError: Error, Hashable, Sendable {
    /// The connection ended or timed out: repeat the call on a new connection, under the same
    /// attempt id.
    case lost
    /// The answer violates the protocol: do not repeat the call.
    case malformed
}
