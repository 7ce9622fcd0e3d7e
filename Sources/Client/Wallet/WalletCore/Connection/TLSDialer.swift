internal import Transport
public import Vocabulary
internal import Wire

/// Dials the real server: TLS 1.3 to an address, trusted by a pinned authority or key and nothing else.
public final class TLSDialer: ServerDialer {
    /// Where the server is and how it is recognized.
    public struct Server: Hashable, Sendable {
        public var host: String
        public var port: Int
        /// The name that its certificate must be for.
        public var name: String
        public var trust: Trust

        /// Whom to take for the server; the platform's roots never count.
        public enum Trust: Hashable, Sendable {
            /// An authority's certificates, PEM.
            case authority(pem: [UInt8])
            /// SHA-256 of the server's SubjectPublicKeyInfo.
            case publicKeys([SHA256Digest])
        }

        public init(host: String, port: Int, name: String, trust: Trust) {
            self.host = host
            self.port = port
            self.name = name
            self.trust = trust
        }
    }

    package let server: Server
    private let tls: TLSClientContext
    private let limits: TimeLimits

    /// Real time, whatever a lab's clock says.
    struct TimeLimits {
        var connect = Duration.seconds(10)
        var call = Duration.seconds(20)
    }

    /// The trust or the name cannot be used; say so with its text.
    public struct NotUsable: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    public init(_ server: Server) throws(NotUsable) {
        self.server = server
        self.limits = TimeLimits()
        let trust: TLSTrust =
            switch server.trust {
            case .authority(let pem): .authority(pem: pem)
            case .publicKeys(let digests): .publicKeys(digests)
            }
        do throws(TLSContextError) {
            self.tls = try TLSClientContext(trust: trust, serverName: server.name)
        } catch {
            throw NotUsable(description: "the server's trust cannot be used: \(error)")
        }
    }

    public var address: String {
        self.server.host.contains(":")
            ? "[\(self.server.host)]:\(self.server.port)" : "\(self.server.host):\(self.server.port)"
    }

    package func dial() async throws(DialError) -> any CallChannel {
        try await self.dial(host: self.server.host, port: self.server.port)
    }

    /// Dials the server where a relay stands for it; trust and name are the server's all the same.
    package func dial(host: String, port: Int) async throws(DialError) -> any CallChannel {
        do throws(ConnectError) {
            let connection = try await ClientConnection.connect(
                host: host,
                port: port,
                tls: self.tls,
                timeout: self.limits.connect
            )
            return TLSChannel(connection: connection, limit: self.limits.call)
        } catch {
            switch error {
            case .noRoute: throw .noInternet
            case .refused, .timedOut, .tls: throw .unreachable
            }
        }
    }
}

/// One TLS connection.
private struct TLSChannel: CallChannel {
    let connection: ClientConnection
    let limit: Duration

    var channelBinding: ChannelBinding { self.connection.channelBinding }

    func call(_ call: Call) async throws(CallChannelError) -> CallResult {
        do throws(CallError) {
            return try await self.connection.call(call, timeout: self.limit)
        } catch {
            switch error {
            case .closed, .timedOut, .cancelled: throw .lost
            case .malformed: throw .malformed
            }
        }
    }

    /// The tasks start on the connection's own event loop, which runs them in the order in which they are added, and
    /// each hands its frame over before it waits.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        await withTaskGroup(of: (Int, Result<CallResult, CallChannelError>).self) { group in
            for (index, call) in calls.enumerated() {
                group.addTask(executorPreference: self.connection.executor) {
                    do throws(CallChannelError) {
                        return (index, .success(try await self.call(call)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var results = Array(repeating: Result<CallResult, CallChannelError>.failure(.lost), count: calls.count)
            for await (index, result) in group { results[index] = result }
            return results
        }
    }

    func close() async {
        self.connection.close()
        await self.connection.closed()
    }
}
