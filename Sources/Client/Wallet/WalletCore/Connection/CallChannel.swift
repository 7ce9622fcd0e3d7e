package import Vocabulary
package import Wire

/// One connection to the server.
///
/// TLS stands behind it, and a server of their own in tests.
package protocol CallChannel: Sendable {
    /// What both ends export; part of everything that is signed for this connection.
    var channelBinding: ChannelBinding { get }

    /// Sends a call and waits for its answer, not longer than the line's own time limit.
    func call(_ call: Call) async throws(CallChannelError) -> CallResult

    /// Sends calls one behind the other without waiting in between; the answers stand in the calls' order.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>]

    /// Ends the connection; nothing happens where it has ended.
    func close() async
}

extension CallChannel {
    /// One after the other: the same answers, later.
    package func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        await self.callOneByOne(calls)
    }

    /// Sends each call when the one before it was answered.
    package func callOneByOne(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        var results: [Result<CallResult, CallChannelError>] = []
        for call in calls {
            do throws(CallChannelError) {
                results.append(.success(try await self.call(call)))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}

/// Makes connections to one server.
package protocol ServerDialer: Sendable {
    /// Host and port, as a person reads them.
    var address: String { get }

    /// A new connection, its handshake done.
    func dial() async throws(DialError) -> any CallChannel
}

/// Why there is no connection.
///
/// Nothing was sent.
package enum DialError: Error, Hashable, Sendable {
    /// No route and no DNS: the device is offline.
    case noInternet
    /// The device has a network; the server does not answer, or another answers in its place.
    case unreachable
}

/// Why a call has no answer.
///
/// Whether it was done is not known.
package enum CallChannelError: Error, Hashable, Sendable {
    /// The connection ended or took too long: the same again on a new one, under the same attempt id.
    case lost
    /// The answer is not one; do not go on with this server.
    case malformed
}
