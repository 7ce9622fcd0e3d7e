extension ServerTarget {
    /// Conversations that reach every call.
    var seeds: [[UInt8]] {
        let wrong = (1...6).map { Self.instruct(by: "@wrong", attempt: [UInt8](repeating: $0, count: 16)) }
        let change: [Node] = [.message(5, [.text(1, "@second"), .text(2, "@second-id")])]
        let later: Node = .message(1, [.number(4, 61)])
        let changed = Self.instruct(by: "@right", change, [.text(4, "@sign")])
        let second = Self.instruct(by: "@second", id: "@second-id")
        let begin = Self.opening + [Self.instruct(by: "@right")]
        let scripts: [[Node]] = [
            begin + [Self.request([.message(9, [.number(1, 1), .number(2, 1)])])],
            Self.opening + wrong[..<2] + [later] + wrong[2..<4] + [later] + wrong[4...],
            Self.opening + [wrong[0], wrong[0], changed, second, Self.instruct(by: "@right")],
            begin + [Self.instruct(by: "@right", [.message(6, [.text(1, "recovery")])])],
            begin + [Self.instruct(by: "@right", [.message(7, [])]), Self.request([.message(8, [])])],
            begin + [Self.request([.message(7, [.text(1, "@code")])], on: 1), Self.instruct(by: "@right")],
            [Self.hello, Self.request([.message(3, [])]), Self.registration, Self.session(of: "@new-wallet")],
            begin + [.message(1, [.number(6, 1)]), .message(1, [.number(4, 200)]), .message(1, [.number(5, 1)])],
            [.message(1, [.data(3, [0, 0, 0, 2, 8, 1, 0, 0])]), .message(1, [.data(3, [0, 0])])],
            Self.opening + [Self.hello] + Self.opening.map { Self.on(1, $0) } + [Self.instruct(by: "@right")],
        ]
        return scripts.map { InputFormat.protobuf.bytes(of: $0) }
    }

    private static func request(_ call: [Node], on connection: UInt8 = 0) -> Node {
        .message(1, [.number(1, connection), .message(2, [.number(1, 1)] + call)])
    }

    private static func on(_ connection: UInt8, _ step: Node) -> Node {
        .message(1, [.number(1, connection)] + step.children.dropFirst())
    }

    private static let hello = request([.message(2, [.text(1, "1.0.0"), .number(2, 1), .text(3, "16")])])
    private static let versions: [Node] = [.text(1, "1.0.0"), .text(2, "16")]

    private static func session(of wallet: String) -> Node {
        Self.request([.message(5, [.text(1, wallet), .message(2, Self.versions), .text(3, "@proof")])])
    }

    private static var opening: [Node] { [Self.hello, Self.session(of: "@wallet")] }

    private static func instruct(
        by key: String,
        _ instruction: [Node] = [.message(4, [])],
        _ more: [Node] = [],
        id: String = "@pin-id",
        attempt: [UInt8] = Array("@attempt-1".utf8)
    ) -> Node {
        let body: [Node] = [.data(1, attempt), .text(2, id), .text(3, key)]
        let call: [Node] = [
            .number(1, RequestFiller.counterVariable), .message(2, body + instruction), .text(3, "@sign"),
        ]
        return Self.request([.message(6, call + more)])
    }

    private static var registration: Node {
        let certificates: [Node] = (0...3).map { .text(1, "@certificate-\($0)") }
        let body: [Node] = [
            .text(1, "@right"), .text(2, "@pin-id"), .message(3, certificates),
            .message(5, Self.versions + [.text(3, "Pixel 9")]),
        ]
        return Self.request([
            .message(4, [.text(1, "@token"), .message(2, body), .text(3, "@sign"), .text(4, "@proof")])
        ])
    }
}
