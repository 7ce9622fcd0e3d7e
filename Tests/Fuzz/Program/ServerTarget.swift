internal import EmbeddedServer
internal import RemotePINServer
internal import TestSupport
internal import Vocabulary
internal import Wire

/// Sequences of frames on connections to a production server that has one wallet of the client.
///
/// An input is a protobuf message of steps (field 1). A step has the number of its connection (1) and one action: a
/// request in a frame (2), bytes without a frame (3), seconds to pass (4), the end of the connection (5), or the
/// server's timers (6). Requests contain variables (``RequestFiller``).
final class ServerTarget: FuzzTarget {
    let format: InputFormat? = .protobuf

    private static let mostSteps = 64
    private static let connectionCount = 2

    private let queue = JobQueue()
    private var live: LiveServer

    init(folder: String) throws {
        self.live = try LiveServer.start(in: "\(folder)/server", self.queue)
    }

    var words: [String] { RequestFiller.variables + ["1.0.0", "16", "recovery"] }

    /// A connection and its state on the client's side.
    private struct Client {
        let connection: ServedConnection
        var filler: RequestFiller
        var unanswered: [Observer.Sent] = []
        var session: WalletID?
    }

    func run(_ input: [UInt8]) {
        guard let steps = InputFormat.protobuf.nodes(of: input) else { return }
        if self.live.isWornOut { self.live = self.live.replaced() }
        let address = self.live.beginInput()
        let wallet = FuzzedWallet()
        wallet.register(at: self.live)
        var (clients, observer): ([Int: Client], Observer) = ([:], Observer(wallet))
        for step in steps.prefix(Self.mostSteps) {
            let place = (step.children.first(1)?.bytes.first).map { Int($0) % Self.connectionCount } ?? 0
            for action in step.children where action.field > 1 {
                var client = clients[place] ?? self.client(place, wallet, address)
                self.perform(action, on: &client)
                clients[place] = client
                self.settle(&clients, &observer)
            }
        }
        let connections = clients.values.map(\.connection)
        for connection in connections { connection.abort() }
        self.queue.run(connections.map(\.loop)) { connections.allSatisfy(\.isDone) }
    }

    private func client(_ place: Int, _ wallet: FuzzedWallet, _ address: String) -> Client {
        guard let binding = ChannelBinding([UInt8](repeating: UInt8(place + 1), count: 32)),
            let connection = try? ServedConnection(self.live.server, binding: binding, address: address, self.queue)
        else { fatalError("an embedded channel connects") }
        let (authority, now) = (self.live.authority, self.live.clock.now())
        return Client(
            connection: connection,
            filler: RequestFiller(wallet: wallet, binding: binding, authority: authority, time: now)
        )
    }

    private func perform(_ action: Node, on client: inout Client) {
        switch action.field {
        case 2:
            let frame = client.filler.filled(action.bytes)
            guard !frame.isEmpty, frame.count <= 65_536 else { return }
            let count = frame.count
            let header = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
            self.send(header + frame, on: &client)
        case 3: self.send(action.bytes, on: &client)
        case 4: self.live.clock.advance(by: .seconds(Int64(ProtobufFormat.number(action.bytes) % 4_000)))
        case 5: client.connection.abort()
        case 6:
            let server = self.live.server
            self.queue.value { await server.runDueTimers() }
        default: break
        }
    }

    private func send(_ bytes: [UInt8], on client: inout Client) {
        for frame in client.connection.send(bytes: bytes) {
            client.unanswered.append(Observer.Sent(frame, session: client.session))
        }
    }

    /// Waits for the answers to all calls and compares them with the promises.
    private func settle(_ clients: inout [Int: Client], _ observer: inout Observer) {
        let connections = clients.values.map(\.connection)
        self.queue.run(connections.map(\.loop)) { connections.allSatisfy { $0.isAnswered || $0.isDone } }
        self.queue.runReady(connections.map(\.loop))
        let fillers = clients.values.map(\.filler)
        for (place, client) in clients {
            var client = client
            for response in client.connection.takeAnswers() {
                let sent = client.unanswered.isEmpty ? nil : client.unanswered.removeFirst()
                if case .beginEnrollment(let enrollment) = response.result { client.filler.enrollment = enrollment }
                if case .openSession(.active) = response.result { client.session = sent?.wallet }
                observer.observe(response.result, to: sent, fillers)
            }
            clients[place] = client
        }
    }
}
