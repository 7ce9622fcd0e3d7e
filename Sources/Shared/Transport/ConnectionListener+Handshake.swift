internal import NIOCore
internal import Synchronization

/// The TLS options of a listening socket.
struct HandshakeOptions: Sendable {
    let tls: TLSServerContext
    /// Returns whether an address belongs to a load balancer, which must tell us the client's address for each
    /// connection.
    let isBalancer: @Sendable (_ address: String) -> Bool
}

// The steps of a network connection: admission, the load balancer's header, the first TLS record, the handshake, and
// frames.
extension ConnectionListener {
    /// Admits a connection and waits for its first bytes.
    ///
    /// If this throws, the connection is closed.
    ///
    /// Until those bytes arrive, a connection only costs an entry in the list.
    func begin(_ channel: any Channel, with options: HandshakeOptions) throws {
        let address = channel.remoteAddress
        let isBalanced = address?.ipAddress.map(options.isBalancer) ?? false
        let start = NIODeadline.now()
        let id = try self.admit(channel, from: isBalanced ? nil : PeerSource(address), start)
        var peer = address
        let opening = ClientHelloHandler(
            demandsHeader: isBalanced,
            timer: HandshakeTimer(deadline: start + TimeAmount(self.limits.handshake), on: channel.eventLoop),
            pacer: .of(channel.eventLoop),
            steps: ClientHelloHandler.Steps(
                takeOrigin: { origin in
                    if let named = SocketAddress(origin) { peer = named }
                    return self.attribute(id, to: PeerSource(peer))
                },
                open: { try self.open(channel, as: id, from: peer, timer: $0, with: options) },
                fail: { self.failed(id, peer, $0) }
            )
        )
        try channel.pipeline.syncOperations.addHandler(opening)
    }

    private func admit(
        _ channel: any Channel,
        from source: PeerSource?,
        _ now: NIODeadline
    ) throws -> UInt64 {
        let (id, refusal, gone, displaced, count) = self.state.withLock { state in
            let gone = state.limiter.hasRoom(for: source) ? state.makeRoom(at: now) : nil
            let (id, refusal) = state.admit(channel, from: source, at: now, displacing: gone != nil)
            if let id { _ = state.unprotected.begin(id, from: source, on: channel, at: now) }
            let displaced = id.flatMap { state.handshakes.begin($0, from: source, on: channel, at: now) }
            if let displaced {
                state.unprotected.end(displaced.id)
                state.connections[displaced.id]?.isDisplaced = true
            }
            return (id, refusal, gone, displaced?.channel, state.handshakes.count)
        }
        if let gone {
            self.refused(gone.report)
            gone.close()
        }
        guard let id else {
            self.refused(refusal)
            throw ChannelError.ioOnClosedChannel
        }
        self.observer.event(.handshakes(inProgress: count))
        if let displaced {
            self.observer.event(.failed(.displaced))
            self.observer.failure(displaced.remoteAddress?.logText ?? "unknown", .displaced)
            displaced.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in
            self.observer.event(.handshakes(inProgress: self.forget(id)))
        }
        return id
    }

    /// Counts a connection towards its source, now that the source is known.
    ///
    /// Returns false if the source has too many connections.
    private func attribute(_ id: UInt64, to source: PeerSource) -> Bool {
        let refusal: State.Refusal? = self.state.withLock { state in
            if let reason = state.limiter.attribute(to: source) {
                return State.Refusal(
                    reason: reason,
                    report: state.limiter.refused(source, for: reason, at: .now())
                )
            }
            state.connections[id]?.source = source
            state.handshakes.attribute(id, to: source)
            state.unprotected.attribute(id, to: source)
            return nil
        }
        guard let refusal else { return true }
        self.refused(refusal)
        return false
    }

    /// Adds the handlers for TLS and frames.
    private func open(
        _ channel: any Channel,
        as id: UInt64,
        from peer: SocketAddress?,
        timer: HandshakeTimer,
        with options: HandshakeOptions
    ) throws {
        let tls = TLSHandler(
            options.tls.makeConnection(),
            on: channel.eventLoop,
            timer: timer,
            recordLimit: TimeAmount(self.limits.frame),
            pacer: .of(channel.eventLoop)
        )
        try channel.pipeline.syncOperations.addHandler(tls)
        let frames = try FrameChannel(
            on: channel,
            peer: peer,
            limits: self.limits,
            isSecure: true,
            onOpen: { frames, tls in self.opened(frames, tls, as: id) },
            onProtection: { isProtected in self.protect(id, isProtected) },
            onLongFrame: { isHeld in self.longFrame(isHeld: isHeld, by: id) },
            onFailure: { self.failed(id, peer, .tls($0)) }
        )
        try self.keep(frames, of: id)
    }

    private func opened(_ frames: FrameChannel, _ tls: TLSHandshakeCompleted?, as id: UInt64) {
        let (isIn, count) = self.state.withLock { ($0.handshakes.end(id) != nil, $0.handshakes.count) }
        // The connection has just been displaced and is being closed.
        guard isIn else { return frames.close() }
        self.observer.event(.handshakes(inProgress: count))
        self.yield(frames, tls)
    }

    /// Sets whether a connection is protected from being displaced in a full table, which it is not at first.
    private func protect(_ id: UInt64, _ isProtected: Bool) {
        self.state.withLock { state in
            state.unprotected.end(id)
            guard !isProtected, let connection = state.connections[id], !connection.isDisplaced else { return }
            _ = state.unprotected.begin(id, from: connection.source, on: connection.channel, at: .now())
        }
    }

    /// Records that a connection has started or stopped holding all or part of a long frame.
    ///
    /// Invariant: no matter how many peers without a wallet connect, they can make the server hold at most
    /// ``TransportLimits/longFrames`` frames of the maximum length. Every other connection holds at most a TLS record
    /// and an ordinary frame.
    private func longFrame(isHeld: Bool, by id: UInt64) {
        let (displaced, refusal): (FrameChannel?, State.Refusal?) = self.state.withLock { state in
            guard isHeld, let connection = state.connections[id] else {
                state.longFrames.end(id)
                return (nil, nil)
            }
            let now = NIODeadline.now()
            let gone = state.longFrames.begin(id, from: connection.source, on: connection.channel, at: now)
            guard let gone, let displaced = state.connections[gone.id] else { return (nil, nil) }
            let source = displaced.source ?? PeerSource(nil)
            let report = state.limiter.refused(source, for: .longFrames, at: now)
            return (displaced.frames, State.Refusal(reason: .longFrames, report: report))
        }
        self.refused(refusal)
        displaced?.abort()
    }

    private func failed(_ id: UInt64, _ peer: SocketAddress?, _ failure: ConnectionFailure) {
        guard self.state.withLock({ $0.connections[id]?.isDisplaced == false }) else { return }
        self.observer.event(.failed(failure))
        self.observer.failure(peer?.logText ?? "unknown", failure)
    }
}

extension ConnectionListener.State {
    /// A connection that is closed to make room for another one.
    struct Displaced {
        let report: Refusal
        let close: @Sendable () -> Void
    }

    /// Removes an unprotected connection if the table is full.
    ///
    /// Threat: peers without a wallet, or with one, could fill the table so that no other wallet can connect. Instead
    /// they displace each other. A wallet opens its session within two round trips of the handshake, which protects
    /// the connection until the session ends or the wallet has opened several newer ones.
    ///
    /// - Returns: The removed connection, which the caller must close.
    fileprivate mutating func makeRoom(at now: NIODeadline) -> Displaced? {
        guard !self.isStopped, self.limiter.isFull, let gone = self.unprotected.displace(at: now) else { return nil }
        self.handshakes.end(gone.id)
        self.longFrames.end(gone.id)
        self.connections[gone.id]?.isDisplaced = true
        let connection = self.connections[gone.id]
        let report = self.limiter.refused(connection?.source ?? PeerSource(nil), for: .withoutSession, at: now)
        return Displaced(report: Refusal(reason: .withoutSession, report: report)) {
            // Abort, because a peer could delay a graceful close and keep its place in the table.
            if let frames = connection?.frames { frames.abort() } else { gone.channel.close(promise: nil) }
        }
    }
}

extension SocketAddress {
    /// Creates the address sent by a load balancer.
    ///
    /// Returns nil if it did not send one.
    fileprivate init?(_ origin: ProxyHeader.Origin) {
        guard case .address(let bytes, let port) = origin,
            let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: Int(port))
        else { return nil }
        self = address
    }
}
