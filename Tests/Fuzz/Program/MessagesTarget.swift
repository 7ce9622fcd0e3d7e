internal import Evidence
internal import Statements
internal import Vocabulary
internal import Wire

/// The decoders of messages and signed bodies, on both sides of a connection and of the portal's socket.
///
/// Each decoded value is encoded and decoded again, and must then give the same bytes.
final class MessagesTarget: FuzzTarget {
    let format: InputFormat? = .protobuf

    func run(_ input: [UInt8]) {
        Self.check(input, { try Request(decoding: $0) }, { $0.encoded() })
        Self.check(input, { try Response(decoding: $0) }, { $0.encoded() })
        Self.check(input, { try RegisterBody(decoding: $0) }, { $0.encoded() })
        Self.check(input, { try OpenSessionBody(decoding: $0) }, { $0.encoded() })
        Self.check(input, { try InstructBody(decoding: $0) }, { $0.encoded() })
        Self.check(input, { try PortalRequest(decoding: $0) }, { $0.encoded() })
        Self.check(input, { try PortalResponse(decoding: $0) }, { $0.encoded() })
        if let receipt = Receipt(input) { _ = (receipt.leaf, receipt.isGenuine(by: Self.receiptKey)) }
        if let root = SignedRoot(decoding: input[...]) {
            require(root.encoded() == input, "a root changes its bytes")
        }
    }

    private static let receiptKey = ReceiptKey(id: 1, publicKey: TestKeys.root.publicKey)

    private static func check<Message>(
        _ input: [UInt8],
        _ decode: ([UInt8]) throws -> Message,
        _ encode: (Message) -> [UInt8]
    ) {
        guard let message = try? decode(input) else { return }
        let encoded = encode(message)
        guard let again = try? decode(encoded) else { fatalError("an encoded \(Message.self) is rejected") }
        require(encode(again) == encoded, "\(Message.self) changes when it is encoded twice")
    }

    /// The receipt of a commit with one attempt.
    private static var receipt: [UInt8] {
        let signature = TestKeys.root.signature(for: [])
        var leaf: [UInt8] = []
        AttemptLeaf(
            outcome: .wrong,
            wrongPINs: 1,
            walletID: .random(),
            attemptID: .random(),
            number: 1,
            lastWrong: AndroidTarget.time
        ).write(to: &leaf)
        let root = SignedRoot(epoch: 1, time: AndroidTarget.time, keyID: 1, root: sha256(leaf), signature: signature)
        return Receipt(leaf: leaf[...], place: 0, leafCount: 1, signedRoot: root.encoded(), path: []).bytes
    }

    var words: [String] { ["1.0.0", "16", "remote-pin/1 session"] }

    var seeds: [[UInt8]] {
        let (id, key) = ([UInt8](repeating: 7, count: 16), [4] + [UInt8](repeating: 9, count: 64))
        let (share, signature) = ([UInt8](repeating: 5, count: 32), [UInt8](repeating: 6, count: 64))
        let device: [Node] = [.text(1, "1.0.0"), .text(2, "16"), .text(3, "Pixel 9")]
        let instruct: [Node] = [.data(1, id), .data(2, id), .data(3, key)]
        let blocked: [Node] = [.message(2, [.number(1, 60)])]
        let active: [Node] = [
            .data(1, id), .message(2, [.message(1, [.number(1, 3), .number(2, 1)])]),
            .message(3, [.number(1, 1), .number(2, 1)]), .data(4, share), .data(5, share),
            .data(6, [UInt8](repeating: 2, count: 133)),
        ]
        let policy: [Node] = [.number(1, 2), .number(2, 4), .number(3, 60)]
        let hello: [Node] = [
            .number(1, 99), .message(2, [.number(1, 4), .number(2, 9)]), .number(3, 6),
            .message(4, policy), .message(5, [.number(1, 1)]), .number(6, 1),
            .message(7, [.number(1, 16), .number(2, 90), .number(3, 30)]),
        ]
        let enrollment: [Node] = [.data(1, [1, 2, 3]), .data(2, id), .number(3, 99)]
        let registration: [Node] = [.data(1, share), .text(2, "0123456789ABCDEFGH")]
        let messages: [[Node]] = [
            device, instruct + [.message(4, [])],
            instruct + [.message(5, [.data(1, key), .data(2, id)])], instruct + [.message(6, [.text(1, "code")])],
            instruct + [.message(7, [])],
            [.data(1, key), .data(2, id), .message(3, [.data(1, [1, 2]), .data(1, [3, 4])]), .message(5, device)],
            [.data(1, key), .data(2, id), .message(4, [.data(1, [1, 2]), .data(2, share)]), .message(5, device)],
            [.number(1, 1), .text(101, "0123456789ABCDEFGH"), .text(102, "192.0.2.1")],
        ]
        let portal: [[Node]] = (101...105).map { number in
            [.number(1, 1), .message(UInt8(number), number == 102 || number == 105 ? [] : [.number(1, 77)])]
        }
        let calls: [[Node]] = [
            [.message(2, [.text(1, "1.0.0"), .number(2, 1), .text(3, "16")])], [.message(3, [])],
            [.message(4, [.data(1, [1]), .message(2, device), .data(3, signature), .data(4, signature)])],
            [.message(5, [.data(1, id), .message(2, Array(device[..<2])), .data(3, signature)])],
            [.message(6, [.number(1, 1), .message(2, instruct), .data(3, signature), .data(5, share)])],
            [.message(7, [.text(1, "0123456789ABCDEFGH")])], [.message(8, [])], [.message(9, [.number(1, 1)])],
        ]
        let results: [[Node]] = [
            [.message(2, hello)], [.message(3, enrollment)], [.message(4, registration)],
            [.message(5, [.message(1, active)])],
            [.message(5, [.message(2, [.number(1, 2), .number(2, 1)])])],
            [.message(6, [.message(1, [.data(1, share), .data(2, share)])])], [.message(6, [.message(2, [])])],
            [.message(6, [.message(4, [.text(1, "0123456789ABCDEFGH")])])],
            [.message(6, [.message(5, [.message(1, blocked)]), .data(8, [UInt8](repeating: 1, count: 172))])],
            [.message(6, [.message(7, [])])], [.message(7, [.message(1, [.number(1, 5)])])], [.message(9, [])],
            [.message(15, [.number(1, 11), .text(2, "00ff"), .number(4, 9)])],
            [.message(15, [.number(1, 10), .data(5, id)])],
            [.message(15, [.number(1, 9), .message(6, [.number(1, 1)])])],
        ]
        let identified = (calls + results).map { [.number(1, 1)] + $0 }
        return (messages + portal + identified).map { InputFormat.protobuf.bytes(of: $0) }
            + [Self.receipt]
    }
}
