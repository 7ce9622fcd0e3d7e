internal import Glibc
internal import HostSystem
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Vocabulary

/// The socket that a server listens on for clients.
package final class RPCListener: Sendable {
    /// The actual port of the socket, even if port 0 was requested.
    package let port: Int

    private let listener: ConnectionListener
    private let limits: TransportLimits

    private init(_ listener: ConnectionListener, port: Int, limits: TransportLimits) {
        self.listener = listener
        self.port = port
        self.limits = limits
    }

    /// Starts listening on an address.
    ///
    /// Connections wait until ``serve(_:)`` is called.
    ///
    /// - Parameters:
    ///   - port: The port, or 0 for any free port.
    ///   - isBalancer: Returns whether the peer at this address must send a PROXY protocol header first. If any other
    ///     peer sends one, the connection is closed, since the header is not valid TLS.
    ///   - observer: The callbacks for metrics and logs.
    package static func bind(
        host: String,
        port: Int,
        tls: TLSServerContext,
        limits: TransportLimits = TransportLimits(),
        isBalancer: @escaping @Sendable (_ address: String) -> Bool = { _ in false },
        observer: ListenerObserver = ListenerObserver()
    ) async throws(ListenError) -> RPCListener {
        let listener = ConnectionListener(limits: limits, observer: observer)
        let options = HandshakeOptions(tls: tls, isBalancer: isBalancer)
        do {
            // NIO sets TCP_NODELAY on the listening socket, and connections inherit it.
            let channel = try await listener.bootstrap(options).bind(host: ListenAddress.host(host), port: port).get()
            listener.listen(on: channel)
            return RPCListener(listener, port: channel.localAddress?.port ?? port, limits: limits)
        } catch {
            throw ListenError(error, address: ListenAddress.text(host, port))
        }
    }

    /// Calls `body` for each connection until ``stop()`` is called or the task is cancelled.
    ///
    /// Returns when all connections have ended.
    ///
    /// `body` runs on the connection's event loop, which also serves other connections, so it must not block. When it
    /// returns, the connection is closed gracefully.
    package func serve(_ body: @escaping @Sendable (ServerConnection) async -> Void) async {
        await self.listener.serve { opened in
            guard let tls = opened.tls else { return }
            await body(ServerConnection(opened.frames, channelBinding: tls.channelBinding, limits: self.limits))
        }
    }

    /// Changes the maximum number of connections from a single source.
    ///
    /// Existing connections above it stay open.
    package func limit(connectionsPerSource most: Int) {
        self.listener.state.withLock { $0.limiter.limit(perSource: most) }
    }

    /// Stops accepting connections.
    ///
    /// The next request on every connection is ``Incoming/closed``.
    package func stop() { self.listener.stop() }
}

/// An error that prevented a listener from being created.
///
/// The configuration needs to be corrected.
package enum ListenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process is already listening on this address.
    case addressInUse(String)
    /// A process is listening on this Unix socket.
    ///
    /// Its id is nil if the kernel does not name it, and may be that of this process.
    case served(String, by: Int32?)
    /// Another user made this Unix socket, and this user may not find out whether a process is listening on it.
    case foreignSocket(String, owner: UInt32)
    /// A file that is not a socket has the socket's name.
    case notASocket(String)
    /// The user is not allowed to use this port or folder.
    case notAllowed(String)
    /// The path of a Unix socket is longer than the system's limit of 107 bytes.
    case pathTooLong(String)
    /// Any other error, with the address and the reason.
    case other(String)

    /// The failure, with the next step, for an operator.
    package var description: String {
        switch self {
        case .addressInUse(let address): "another process listens on \(address)"
        case .served(let path, getpid()):
            "this server listens on \(path) already, for another setting: name another path"
        case .foreignSocket(let path, let owner):
            "\(path) was left by \(Accounts.userName(of: owner) ?? "user \(owner)"), and this user may not see whether "
                + "a process listens on it: stop that process, then remove the file"
        case .served(let path, let process):
            "another process\(process.map { " (\($0))" } ?? "") listens on \(path): stop it, or name another path"
        case .notASocket(let path): "\(path) is not a socket: move it away, or name another path"
        case .notAllowed(let address): "this user may not listen on \(address)"
        case .pathTooLong(let path): "\(path) is too long for a socket"
        case .other(let text): text
        }
    }
}

extension ListenError {
    init(_ error: any Error, address: String) {
        if let code = (error as? IOError)?.errnoCode {
            self.init(errno: code, address: address)
        } else {
            self = .other("\(address): \(error)")
        }
    }

    init(errno code: Int32, address: String) {
        switch code {
        case EADDRINUSE: self = .addressInUse(address)
        case EACCES, EPERM: self = .notAllowed(address)
        default: self = .other("\(address): \(ListenAddress.reason(code))")
        }
    }
}

/// An event on a listening socket, for metrics.
///
/// Observers are called on event loops, so they must not block.
package enum ListenerEvent: Sendable {
    /// A connection was closed because of a limit.
    case refused(RefusedConnections.Reason)
    /// A connection failed to open, or TLS failed later on.
    case failed(ConnectionFailure)
    /// The number of handshakes in progress changed.
    case handshakes(inProgress: Int)
}

/// A listening socket's callbacks for metrics and logs.
package struct ListenerObserver: Sendable {
    /// Called for every event.
    package var event: @Sendable (ListenerEvent) -> Void = { _ in }
    /// Called with the client's address for every failed connection, for logging.
    package var failure: @Sendable (_ peer: String, _ failure: ConnectionFailure) -> Void = { _, _ in }
    /// Called when connections have been closed because of a limit, for logging.
    ///
    /// Called at most once per ``TransportLimits/refusalReportInterval``.
    package var refusal: @Sendable (RefusedConnections) -> Void = { _ in }
    /// Called when accept(2) fails, usually because there are no file descriptors left.
    ///
    /// This is for logging and happens at most once per second.
    package var acceptFailure: @Sendable (_ reason: String) -> Void = { _ in }

    package init() {}
}

/// An error that prevented a connection to a server from being opened, or that ended it later.
///
/// The connection is closed and counted.
package enum ConnectionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The handshake or a later record failed.
    case tls(TLSFailure)
    /// The load balancer did not start with a valid header.
    case proxyHeader(ProxyHeaderFault)
    /// Too many handshakes were in progress, and a newer one displaced this one (``TransportLimits/handshakes``).
    case displaced

    package var description: String {
        switch self {
        case .tls(let failure): "\(failure)"
        case .proxyHeader(let fault): "PROXY protocol: \(fault.rawValue)"
        case .displaced: "displaced by a newer handshake"
        }
    }
}
