internal import NIOCore
internal import Synchronization
internal import Vocabulary

/// What stands before the frames of a listening socket in the network.
struct HandshakeOptions: Sendable {
    let tls: TLSServerContext
    /// Whether an address is a balancer's, which must say for whom it comes.
    let isBalancer: @Sendable (_ address: String) -> Bool
}

// The way of a client in the network: let in, a balancer's word, the first record, the handshake, frames.
extension ConnectionListener {
    /// Lets a connection in and waits for what it says; what throws here closes it.
    ///
    /// Nothing is made for it but its place among those that are let in.
    func begin(_ channel: any Channel, with options: HandshakeOptions) throws {
        let address = channel.remoteAddress
        let isBalanced = address?.ipAddress.map(options.isBalancer) ?? false
        let start = NIODeadline.now()
        let id = try self.admit(channel, from: isBalanced ? nil : PeerSource(address), start)
        var peer = address
        let opening = ClientHelloHandler(
            demandsHeader: isBalanced,
            deadline: channel.eventLoop.now + TimeAmount(self.limits.handshake),
            pacer: .of(channel.eventLoop),
            steps: ClientHelloHandler.Steps(
                takeOrigin: { origin in
                    if let told = SocketAddress(origin) { peer = told }
                    return self.attribute(id, to: PeerSource(peer))
                },
                open: { try self.open(channel, as: id, from: peer, since: start, with: options) },
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
        let (id, refusal, displaced, count) = self.state.withLock { state in
            let (id, refusal) = state.admit(channel, from: source, at: now)
            let displaced = id.flatMap { state.handshakes.begin($0, from: source, on: channel) }
            if let displaced { state.connections[displaced.id]?.isDisplaced = true }
            return (id, refusal, displaced?.channel, state.handshakes.count)
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

    /// The source is known now, and counted; false where it has too many connections.
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
            return nil
        }
        guard let refusal else { return true }
        self.refused(refusal)
        return false
    }

    /// Puts TLS and frames where the opening was.
    private func open(
        _ channel: any Channel,
        as id: UInt64,
        from peer: SocketAddress?,
        since start: NIODeadline,
        with options: HandshakeOptions
    ) throws {
        let tls = TLSHandler(
            options.tls.makeConnection(),
            on: channel.eventLoop,
            deadline: start + TimeAmount(self.limits.handshake),
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
            onLongFrame: { isHeld in self.longFrame(isHeld: isHeld, by: id) },
            onFailure: { self.failed(id, peer, .tls($0)) }
        )
        try self.keep(frames, of: id)
    }

    private func opened(_ frames: FrameChannel, _ tls: TLSHandshakeCompleted?, as id: UInt64) {
        let (isIn, count) = self.state.withLock { ($0.handshakes.end(id) != nil, $0.handshakes.count) }
        // It had to make room in this moment, and is being closed.
        guard isIn else { return frames.close() }
        self.observer.event(.handshakes(inProgress: count))
        self.yield(frames, tls)
    }

    /// A long frame of a connection, or the beginning of one, is held and waits, or no longer.
    ///
    /// Invariant: what peers without a wallet can have held is ``TransportLimits/longFrames`` times the longest frame,
    /// however many they are; all others have a TLS record and an ordinary frame.
    private func longFrame(isHeld: Bool, by id: UInt64) {
        let (displaced, refusal): (FrameChannel?, State.Refusal?) = self.state.withLock { state in
            guard isHeld, let connection = state.connections[id] else {
                state.longFrames.end(id)
                return (nil, nil)
            }
            let gone = state.longFrames.begin(id, from: connection.source, on: connection.channel)
            guard let gone, let displaced = state.connections[gone.id] else { return (nil, nil) }
            let source = displaced.source ?? PeerSource(nil)
            let report = state.limiter.refused(source, for: .longFrames, at: .now())
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

extension SocketAddress {
    /// What a balancer said; nil where it named nobody.
    fileprivate init?(_ origin: ProxyHeader.Origin) {
        guard case .address(let bytes, let port) = origin,
            let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: Int(port))
        else { return nil }
        self = address
    }
}
