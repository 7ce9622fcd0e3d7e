internal import NIOCore
@testable import Transport
internal import Vocabulary
@testable import WalletCore
internal import WalletFlows
internal import Wire

/// The network between phones and the server, above TLS.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class Network: @unchecked Sendable {
    let scheduler: Scheduler
    let observer: Observer
    private var generator: SeededGenerator
    /// A process that accepts connections.
    struct Listener {
        let process: SimulatedProcess
        /// Accepts a connection; called in the process.
        let accept: (Link) throws -> Void
    }

    var listeners: [Listener] = []
    private(set) var links: [Link] = []
    private var lastNumber = 0

    /// The times until which faults last, in microseconds.
    var partedUntil: Int64 = 0
    var slowUntil: Int64 = 0
    /// The frames to the server that are still to be sent twice, or to change places with the next one.
    var repeated = 0
    var exchanged = 0
    private var held: [Int: ByteBuffer] = [:]
    /// The verdicts that are still to be lost, with their connections.
    var lostVerdicts = 0
    /// Runs when the next session or instruction reaches the server.
    private var onRequest: [(Link) -> Void] = []

    init(seed: UInt64, _ scheduler: Scheduler, _ observer: Observer) {
        self.scheduler = scheduler
        self.observer = observer
        self.generator = SeededGenerator(seed: seed, "network")
    }

    /// The travel time of a frame in microseconds.
    func latency(of link: Link) -> Int64 {
        let isSlow = self.scheduler.now < self.slowUntil
        return .random(in: isSlow ? 1_000_000...12_000_000 : 5_000...80_000, using: &self.generator)
    }

    /// The pieces in which a frame is read from the socket.
    func pieces(of frame: ByteBuffer) -> [ByteBuffer] {
        guard self.generator.chance(20) else { return [frame] }
        // The place is drawn first, because the length of some frames depends on random bytes.
        let place = Int.random(in: 1...99, using: &self.generator) * frame.readableBytes / 100
        var rest = frame
        guard let first = rest.readSlice(length: place) else { return [frame] }
        return [first, rest]
    }

    /// Applies faults that TLS rules out: a frame that arrives twice, or after the next one.
    ///
    /// They concern sessions and instructions only. The server treats a repeated Register as a new one, as the protocol
    /// demands, and its other answer is lost.
    func altered(_ frame: ByteBuffer, _ direction: Link.Direction, on link: Link) -> [ByteBuffer] {
        guard direction == .toServer else { return self.isLost(frame, on: link) ? [] : [frame] }
        let call = (try? Request(decoding: Array(frame.readableBytesView.dropFirst(4))))?.call
        switch call {
        case .openSession, .instruct: break
        default: if self.held[link.number] == nil { return [frame] }
        }
        if let earlier = self.held.removeValue(forKey: link.number) { return [frame, earlier] }
        if self.repeated > 0 {
            self.repeated -= 1
            self.observer.note("network", "a frame of connection \(link.number) is repeated")
            return [frame, frame]
        }
        if self.exchanged > 0 {
            self.exchanged -= 1
            self.observer.note("network", "a frame of connection \(link.number) waits for the next one")
            self.held[link.number] = frame
            return []
        }
        return [frame]
    }

    private func isLost(_ frame: ByteBuffer, on link: Link) -> Bool {
        guard self.lostVerdicts > 0,
            case .judged? = (try? Response(decoding: Array(frame.readableBytesView.dropFirst(4))))?.result
        else { return false }
        self.lostVerdicts -= 1
        self.observer.note("network", "a verdict is lost with connection \(link.number)")
        link.cut()
        return true
    }

    /// Runs `action` in the world when the next session or instruction reaches the server.
    func atNextRequest(_ action: @escaping (Link) -> Void) { self.onRequest.append(action) }

    /// A frame reaches the server.
    func reachesServer(_ frame: ByteBuffer, on link: Link) {
        guard !self.onRequest.isEmpty else { return }
        switch (try? Request(decoding: Array(frame.readableBytesView.dropFirst(4))))?.call {
        case .openSession, .instruct: break
        default: return
        }
        let actions = self.onRequest
        self.onRequest = []
        for action in actions { action(link) }
    }

    /// Cuts all connections.
    func cutAll() {
        for link in self.links { link.cut() }
        self.links = []
    }

    /// Connects a phone to a server; called by the phone's dialer.
    ///
    /// - Parameter thiefHasPhone: Not nil for a thief, who may have the wallet's phone.
    func connect(
        _ phone: SimulatedProcess,
        thiefHasPhone: Bool? = nil
    ) async throws(DialError) -> ClientConnection {
        await self.scheduler.wait(.random(in: 10_000...120_000, using: &self.generator))
        if self.scheduler.now < self.partedUntil {
            await self.scheduler.wait(TLSDialer.connectLimit.milliseconds * 1000)
            throw .unreachable(.connectionTimedOut)
        }
        // A balancer sends each connection to any of the servers.
        guard let listener = self.listeners.count > 1 ? self.generator.pick(self.listeners) : self.listeners.first
        else { throw .unreachable(.connectionRefused) }
        let server = listener.process
        self.lastNumber += 1
        let link = Link(number: self.lastNumber, client: phone, server: server, network: self)
        self.links.append(link)
        do {
            let connection = try link.connectClient()
            self.observer.note(phone.name, "connects: connection \(link.number)")
            if let thiefHasPhone { self.observer.noteThief(on: link, hasPhone: thiefHasPhone) }
            self.scheduler.enter(server) { do { try listener.accept(link) } catch { preconditionFailure("\(error)") } }
            return connection
        } catch {
            preconditionFailure("an embedded channel connects: \(error)")
        }
    }
}

/// The network as a wallet uses it.
struct SimulatedDialer: ServerDialer {
    let network: Network
    let process: SimulatedProcess

    var address: String { "server:443" }

    func dial() async throws(DialError) -> any CallChannel {
        TLSChannel(connection: try await self.network.connect(self.process))
    }
}
