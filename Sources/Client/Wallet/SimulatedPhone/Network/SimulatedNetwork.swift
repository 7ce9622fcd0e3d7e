internal import Synchronization
internal import Vocabulary
package import WalletCore
internal import Wire

/// A simulated phone's network, which sits between the wallet and its dialer (docs/devices.md, The network).
///
/// TLS connections run through it end to end, so it can delay or drop data, but it cannot read or modify it.
package final class SimulatedNetwork: ServerDialer {
    private let dialer: any ServerDialer
    private let device: SimulatedDevice
    private let wait: Wait
    private let hold: Hold

    /// Sleeps until a delayed answer arrives, in real time or on a lab's clock.
    ///
    /// Throws if the wallet's process ends during the call.
    package typealias Wait = @Sendable (Duration) async throws -> Void

    /// Waits in real time.
    package static let realTime: Wait = { try await Task.sleep(for: $0) }

    /// Defers a call if the server is frozen.
    ///
    /// Otherwise, returns false.
    ///
    /// The server executes a deferred call once it resumes, by which time the wallet has given up on it.
    package typealias Hold = @Sendable (@escaping @Sendable () async -> Void) -> Bool

    /// Never defers a call.
    package static let neverHeld: Hold = { _ in false }

    package init(
        _ dialer: any ServerDialer,
        of device: SimulatedDevice,
        wait: @escaping Wait = SimulatedNetwork.realTime,
        hold: @escaping Hold = SimulatedNetwork.neverHeld
    ) {
        self.dialer = dialer
        self.device = device
        self.wait = wait
        self.hold = hold
    }

    package var address: String { self.dialer.address }

    package func dial() async throws(DialError) -> any CallChannel {
        switch self.device.profile.network {
        case .off: throw .noInternet
        case .unreachable: throw .unreachable(.connectionTimedOut)
        case .on: break
        }
        guard !self.hold({}) else {
            try? await self.wait(TLSDialer.connectLimit)
            throw .unreachable(.connectionTimedOut)
        }
        guard let tls = self.dialer as? TLSDialer, let relay = await Relay.open(to: tls.server) else {
            return self.channel(try await self.dialer.dial(), relay: nil)
        }
        let cut = try? self.device.takeCondition { if case .cut = $0 { true } else { false } }
        if case .cut(let byteCount) = cut { relay.cut(after: byteCount) }
        do throws(DialError) {
            let channel = try await tls.dial(host: relay.host, port: relay.port)
            await relay.closeListener()
            return self.channel(channel, relay: relay)
        } catch {
            await relay.closeListener()
            // The relay could not reach the server. Dial directly, so that the caller gets the actual error.
            guard relay.hasReachedServer else {
                return self.channel(try await tls.dial(), relay: nil)
            }
            throw error
        }
    }

    private func channel(_ channel: any CallChannel, relay: Relay?) -> SimulatedChannel {
        SimulatedChannel(channel: channel, device: self.device, relay: relay, wait: self.wait, hold: self.hold)
    }
}

/// A connection through a simulated network.
private final class SimulatedChannel: CallChannel {
    private let channel: any CallChannel
    private let device: SimulatedDevice
    /// Nil if the connection is direct.
    private let relay: Relay?
    private let wait: SimulatedNetwork.Wait
    private let hold: SimulatedNetwork.Hold
    /// Whether the connection has been lost.
    ///
    /// After that, calls fail without using up a condition.
    private let hasEnded = Mutex(false)
    /// Whether the connection carries a call that a frozen server has not read yet.
    private let isHeld = Mutex(false)

    init(
        channel: any CallChannel,
        device: SimulatedDevice,
        relay: Relay?,
        wait: @escaping SimulatedNetwork.Wait,
        hold: @escaping SimulatedNetwork.Hold
    ) {
        self.channel = channel
        self.device = device
        self.relay = relay
        self.wait = wait
        self.hold = hold
    }

    var channelBinding: ChannelBinding { self.channel.channelBinding }

    func call(_ call: Call) async throws(CallChannelError) -> CallResult {
        try await self.checkNetwork()
        try await self.checkFrost(call)
        var delay = Duration.zero
        switch try self.condition(for: call) {
        case nil: break
        case .delay(let milliseconds): delay = .milliseconds(milliseconds)
        case .loseReply:
            _ = try await self.channel.call(call)
            await self.close()
            throw .lost
        case .cut(let byteCount):
            guard let relay = self.relay else {
                await self.close()
                throw .lost
            }
            relay.cut(after: byteCount)
        }
        let result: CallResult
        do throws(CallChannelError) {
            result = try await self.channel.call(call)
        } catch {
            self.hasEnded.withLock { $0 = true }
            throw error
        }
        if delay > .zero { try await self.receiveLate(after: delay) }
        // The phone may have gone offline while the call was in flight, in which case the answer is lost.
        try await self.checkNetwork()
        return result
    }

    /// If the server is frozen, throws once the wallet's time limit has passed.
    ///
    /// The server executes the call when it resumes.
    private func checkFrost(_ call: Call) async throws(CallChannelError) {
        let channel = self.channel
        let isHeld = self.hold {
            _ = try? await channel.call(call)
            await channel.close()
        }
        guard isHeld else { return }
        self.isHeld.withLock { $0 = true }
        self.hasEnded.withLock { $0 = true }
        try? await self.wait(TLSDialer.callLimit)
        throw .lost
    }

    /// Waits for a delayed answer.
    ///
    /// It is lost if it would arrive after the wallet's time limit.
    private func receiveLate(after delay: Duration) async throws(CallChannelError) {
        let isTooLate = delay >= TLSDialer.callLimit
        // This throws if the wallet's process ends, in which case there is nothing left to wait for.
        guard (try? await self.wait(min(delay, TLSDialer.callLimit))) != nil, !isTooLate else {
            await self.close()
            throw .lost
        }
    }

    /// Pipelines the calls, or sends them one at a time if there are pending network conditions.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        let profile = self.device.profile
        if profile.network == .on, profile.conditions.isEmpty, !self.hold({}) {
            return await self.channel.callInOrder(calls)
        }
        return await self.callOneByOne(calls)
    }

    func close() async {
        self.hasEnded.withLock { $0 = true }
        // A held call has already left the phone, so its connection stays open.
        if !self.isHeld.withLock({ $0 }) { await self.channel.close() }
    }

    /// Throws if the phone is offline or the connection is lost.
    private func checkNetwork() async throws(CallChannelError) {
        guard !self.hasEnded.withLock({ $0 }) else { throw .lost }
        guard self.device.profile.network != .on else { return }
        await self.close()
        throw .lost
    }

    private func condition(for call: Call) throws(CallChannelError) -> NetworkCondition? {
        do {
            return try self.device.takeCondition { condition in
                switch condition {
                case .loseReply(to: .some(let kind)): kind == call.kind
                case .loseReply(to: nil), .delay, .cut: true
                }
            }
        } catch {
            throw .lost
        }
    }
}
