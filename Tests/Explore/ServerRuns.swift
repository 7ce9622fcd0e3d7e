internal import WalletStore

/// The states of a connection, by its inputs; each is computed once.
final class ServerRuns {
    struct Node {
        let inputs: [Input]
        let place: Int
        let finding: Finding
        /// The counter of the next instruction.
        var nextCounter: UInt8 = 1
    }

    private struct Edge: Hashable {
        let node: Int32
        let place: Int8
        let event: Input.Event
        /// Nil for an input after which the server does not read its clock.
        let time: Int8?
    }

    private let run: ServerRun
    private let identity: StoredIdentity
    private(set) var nodes: [Node] = []
    private var children: [Edge: Int32] = [:]
    private var replies: [Reply] = []
    private var numbers: [Reply: Int32] = [:]

    init(_ run: ServerRun, identity: StoredIdentity) {
        self.run = run
        self.identity = identity
    }

    subscript(node: Int32) -> Node { self.nodes[Int(node)] }

    /// The number of a reply.
    func number(of reply: Reply) -> Int32 {
        if let number = self.numbers[reply] { return number }
        let number = Int32(self.replies.count)
        self.replies.append(reply)
        self.numbers[reply] = number
        return number
    }

    func reply(_ number: Int32) -> Reply { self.replies[Int(number)] }

    /// The state after one more input; `node` is negative for a new connection.
    func node(after node: Int32, _ input: Input, place: Int) throws -> Int32 {
        func edge(_ time: Int8?) -> Edge { Edge(node: node, place: Int8(place), event: input.event, time: time) }
        if let child = self.children[edge(nil)] ?? self.children[edge(input.time)] { return child }
        let inputs = (node < 0 ? [] : self[node].inputs) + [input]
        var child = Node(
            inputs: inputs,
            place: place,
            finding: try self.run.finding(after: inputs, place: place, identity: self.identity)
        )
        child.nextCounter = node < 0 ? 1 : self[node].nextCounter
        if case .message(.instruct) = input.event { child.nextCounter += 1 }
        let number = Int32(self.nodes.count)
        self.nodes.append(child)
        self.children[edge(child.finding.readsClock ? input.time : nil)] = number
        return number
    }
}
