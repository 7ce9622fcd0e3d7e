internal import DeviceInterface
internal import Synchronization
internal import Vocabulary
package import WalletCore
internal import Wire

/// The network as a simulated phone's profile has it, between the wallet and its dialer (docs/devices.md, Network).
///
/// TLS runs through it from end to end: it delays, loses and cuts bytes, and can read or change none.
package final class SimulatedNetwork: ServerDialer {
    private let dialer: any ServerDialer
    private let device: SimulatedDevice

    package init(_ dialer: any ServerDialer, of device: SimulatedDevice) {
        self.dialer = dialer
        self.device = device
    }

    package var address: String { self.dialer.address }

    package func dial() async throws(DialError) -> any CallChannel {
        switch self.device.profile.network {
        case .off: throw .noInternet
        case .unreachable: throw .unreachable
        case .on: break
        }
        guard let tls = self.dialer as? TLSDialer, let relay = await Relay.open(to: tls.server) else {
            return SimulatedChannel(line: try await self.dialer.dial(), device: self.device, relay: nil)
        }
        let cut = try? self.device.takeCondition { if case .cut = $0 { true } else { false } }
        if case .cut(let byteCount) = cut { relay.cut(after: byteCount) }
        do throws(DialError) {
            let line = try await tls.dial(host: relay.host, port: relay.port)
            await relay.closeListener()
            return SimulatedChannel(line: line, device: self.device, relay: relay)
        } catch {
            await relay.closeListener()
            // Who cannot be reached directly either is out of reach for the same reason.
            guard relay.hasReachedServer else {
                return SimulatedChannel(line: try await tls.dial(), device: self.device, relay: nil)
            }
            throw error
        }
    }
}

/// One connection through a simulated network.
private final class SimulatedChannel: CallChannel {
    private let line: any CallChannel
    private let device: SimulatedDevice
    /// Nil where the connection is a direct one.
    private let relay: Relay?
    /// What was lost once stays so: a call on a connection that has ended meets no condition.
    private let hasEnded = Mutex(false)

    init(line: any CallChannel, device: SimulatedDevice, relay: Relay?) {
        self.line = line
        self.device = device
        self.relay = relay
    }

    var channelBinding: ChannelBinding { self.line.channelBinding }

    func call(_ call: Call) async throws(CallChannelError) -> CallResult {
        try await self.checkNetwork()
        switch try self.condition(for: call) {
        case nil: break
        case .delay(let milliseconds):
            // A wallet that is being closed does not wait for it.
            guard (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil else { throw .lost }
            try await self.checkNetwork()
        case .loseReply:
            _ = try await self.line.call(call)
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
            result = try await self.line.call(call)
        } catch {
            self.hasEnded.withLock { $0 = true }
            throw error
        }
        // What is answered while the phone has no network does not arrive.
        try await self.checkNetwork()
        return result
    }

    /// Behind one another as the wallet sends them; one by one where the network has something in store for them.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallChannelError>] {
        let profile = self.device.profile
        if profile.network == .on, profile.conditions.isEmpty { return await self.line.callInOrder(calls) }
        return await self.callOneByOne(calls)
    }

    func close() async {
        self.hasEnded.withLock { $0 = true }
        await self.line.close()
    }

    /// Throws where nothing can be sent or received any more.
    private func checkNetwork() async throws(CallChannelError) {
        guard !self.hasEnded.withLock({ $0 }) else { throw .lost }
        guard self.device.profile.network != .on else { return }
        await self.close()
        throw .lost
    }

    private func condition(for call: Call) throws(CallChannelError) -> NetworkCondition? {
        do throws(DeviceError) {
            return try self.device.takeCondition { condition in
                switch condition {
                case .loseReply(to: .some(let name)): name == call.name
                case .loseReply(to: nil), .delay, .cut: true
                }
            }
        } catch {
            throw .lost
        }
    }
}

extension Call {
    /// What a profile calls it; nil for what no wallet sends.
    fileprivate var name: NetworkCondition.CallName? {
        switch self {
        case .hello: .hello
        case .beginEnrollment: .beginEnrollment
        case .register: .register
        case .openSession: .openSession
        case .instruct: .instruct
        case .revokeWithCode: .revokeWithCode
        case .reportWipe: .reportWipe
        case .unknown: nil
        }
    }
}
