package import Transport
public import Vocabulary
package import WalletFlows
package import Wire

/// A channel for calls to the server: a TLS connection, a simulated network, or a test double.
package protocol CallChannel: Sendable {
    /// The keying material exported by both ends. It is part of every statement signed for this connection.
    var channelBinding: ChannelBinding { get }

    /// Sends a call and waits for the answer, up to the channel's time limit.
    ///
    /// - Throws: ``CallError/malformed`` if the call must not be repeated. After any other error, the server may or may
    ///   not have executed it: repeat it on a new connection, with the same attempt id.
    func call(_ call: Call) async throws(CallError) -> CallResult

    /// Sends all calls without waiting for answers in between, and returns the answers in the same order.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallError>]

    /// Closes the connection, if it is still open.
    func close() async
}

extension CallChannel {
    /// Sends each call after the previous one has been answered.
    package func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallError>] {
        await self.callOneByOne(calls)
    }

    /// Sends each call after the previous one has been answered.
    package func callOneByOne(_ calls: [Call]) async -> [Result<CallResult, CallError>] {
        var results: [Result<CallResult, CallError>] = []
        for call in calls { results.append(await self.result(of: call)) }
        return results
    }

    /// Sends a call and returns the answer, or the error if no answer arrived.
    package func result(of call: Call) async -> Result<CallResult, CallError> {
        do throws(CallError) {
            return .success(try await self.call(call))
        } catch {
            return .failure(error)
        }
    }
}

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

/// Connects to the server over TLS 1.3, trusting only a pinned authority or pinned keys.
public final class TLSDialer: ServerDialer {
    /// The server's address and how to authenticate it.
    public struct Server: Hashable, Sendable {
        /// A DNS name or an IP address.
        public var host: String
        /// The TCP port, 1 to 65535.
        public var port: Int
        /// The DNS name that the server's certificate must contain.
        public var name: String
        /// The authentication of the server.
        public var trust: Trust

        /// The authentication of the server.
        ///
        /// The platform's root certificates are never used.
        public enum Trust: Hashable, Sendable {
            /// The PEM-encoded certificates of an authority.
            case authority(pem: [UInt8])
            /// One or more SHA-256 digests of the server's SubjectPublicKeyInfo.
            case publicKeys([SHA256Digest])
        }

        /// Creates a server description.
        ///
        /// The name and trust are checked by ``TLSDialer/init(_:)``.
        public init(host: String, port: Int, name: String, trust: Trust) {
            self.host = host
            self.port = port
            self.name = name
            self.trust = trust
        }
    }

    package let server: Server
    private let tls: TLSClientContext

    /// The time for which the wallet waits for a connection, in real time even if a lab's clock is used.
    package static let connectLimit = Duration.seconds(10)

    /// The time for which the wallet waits for the answer to a call, also in real time.
    package static let callLimit = Duration.seconds(20)

    /// The server's name or trust cannot be used.
    ///
    /// Show the text to the operator of the host application.
    public struct NotUsable: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason, for a log or the operator.
        public let description: String
    }

    /// Prepares for connections to `server` without opening one.
    public init(_ server: Server) throws(NotUsable) {
        self.server = server
        let trust: TLSTrust =
            switch server.trust {
            case .authority(let pem): .authority(pem: pem)
            case .publicKeys(let digests): .publicKeys(digests)
            }
        do throws(TLSContextError) {
            self.tls = try TLSClientContext(trust: trust, serverName: server.name)
        } catch {
            let reason =
                switch error {
                case .serverName(let name):
                    "`\(name)` is neither an ASCII name nor an address; write an international name as xn--…"
                case .trust: "the trusted authority is not a PEM file with a certificate"
                case .certificate, .key, .keyOfAnotherCertificate, .faults: "\(error)"
                }
            throw NotUsable(description: "the server's name or trust cannot be used: \(reason)")
        }
    }

    /// The host and port, with brackets around an IPv6 address.
    public var address: String {
        self.server.host.contains(":")
            ? "[\(self.server.host)]:\(self.server.port)" : "\(self.server.host):\(self.server.port)"
    }

    package func dial() async throws(DialError) -> any CallChannel {
        try await self.dial(host: self.server.host, port: self.server.port)
    }

    /// Connects through a relay at `host` and `port`.
    ///
    /// The server's own name and trust still apply.
    package func dial(host: String, port: Int) async throws(DialError) -> any CallChannel {
        do throws(ConnectError) {
            let connection = try await ClientConnection.connect(
                host: host,
                port: port,
                tls: self.tls,
                timeout: Self.connectLimit
            )
            return TLSChannel(connection: connection)
        } catch {
            switch error {
            case .noRoute: throw .noInternet
            case .refused: throw .unreachable(.connectionRefused)
            case .timedOut: throw .unreachable(.connectionTimedOut)
            case .tls(.untrusted): throw .unreachable(.certificateUntrusted)
            case .tls(.wrongName): throw .unreachable(.certificateName)
            case .tls: throw .unreachable(.tlsFailed)
            }
        }
    }
}

/// A TLS connection.
struct TLSChannel: CallChannel {
    let connection: ClientConnection

    var channelBinding: ChannelBinding { self.connection.channelBinding }

    func call(_ call: Call) async throws(CallError) -> CallResult {
        try await self.connection.call(call, timeout: TLSDialer.callLimit)
    }

    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallError>] {
        await self.connection.results(of: calls, timeout: TLSDialer.callLimit)
    }

    func close() async {
        self.connection.close()
        await self.connection.closed()
    }
}
