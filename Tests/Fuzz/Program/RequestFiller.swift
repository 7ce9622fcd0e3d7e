internal import Evidence
internal import Lab
internal import Statements
internal import TestSupport
internal import Vocabulary
internal import Wire

/// Fills the variables of a request with the values of a conversation, and signs it.
///
/// Inputs contain texts such as `@wallet` in place of random values, so that they stay valid in another process and
/// survive mutations. A request is signed last, over its mutated body.
struct RequestFiller {
    private let wallet: FuzzedWallet
    private let binding: ChannelBinding
    private let authority: LabAuthority
    private let time: Timestamp
    /// The newest enrollment of the connection.
    var enrollment: Enrollment?
    /// The counter of the next instruction.
    private var nextCounter: UInt64 = 1
    /// Whether an instruction was signed by a key that was or became the wallet's.
    private(set) var hasPIN = false
    /// Whether a session was opened with the wallet's hardware key.
    private(set) var hasHardware = false

    /// The number that stands for the next counter.
    static let counterVariable: UInt8 = 0xC8
    static let variables = [
        "@wallet", "@new-wallet", "@pin-id", "@second-id", "@right", "@wrong", "@second", "@sign", "@proof",
        "@token", "@code", "@attempt-1", "@attempt-2", "@certificate-0", "@certificate-1", "@certificate-2",
        "@certificate-3",
    ]

    init(wallet: FuzzedWallet, binding: ChannelBinding, authority: LabAuthority, time: Timestamp) {
        self.wallet = wallet
        self.binding = binding
        self.authority = authority
        self.time = time
    }

    mutating func filled(_ frame: [UInt8]) -> [UInt8] {
        guard var nodes = InputFormat.protobuf.nodes(of: frame) else { return frame }
        var certificates: [[UInt8]]?
        nodes = nodes.map { self.substituted($0, &certificates) }
        for index in nodes.indices where !nodes[index].children.isEmpty {
            switch nodes[index].field {
            case 4: self.signRegistration(&nodes[index].children)
            case 5: self.signSession(&nodes[index].children)
            case 6: self.signInstruction(&nodes[index].children)
            default: break
            }
        }
        return InputFormat.protobuf.bytes(of: nodes)
    }

    private func substituted(_ node: Node, _ certificates: inout [[UInt8]]?) -> Node {
        var node = node
        switch node.content {
        case .nodes(let nodes, let format):
            node.content = .nodes(nodes.map { self.substituted($0, &certificates) }, format)
        case .bytes(let bytes):
            guard bytes.first == UInt8(ascii: "@") else { break }
            if let value = self.value(of: String(decoding: bytes, as: UTF8.self), &certificates) {
                node.content = .bytes(value)
            }
        }
        return node
    }

    private func value(of variable: String, _ certificates: inout [[UInt8]]?) -> [UInt8]? {
        switch variable {
        case "@wallet": return self.wallet.id.bytes
        case "@new-wallet": return self.enrollment?.walletID.bytes
        case "@pin-id": return self.wallet.firstID.bytes
        case "@second-id": return self.wallet.secondID.bytes
        case "@token": return self.enrollment?.token
        case "@code": return Array(self.wallet.deletionCode.characters.utf8)
        case "@attempt-1", "@attempt-2": return [UInt8](repeating: variable.utf8.last ?? 0, count: 16)
        case "@certificate-0", "@certificate-1", "@certificate-2", "@certificate-3":
            let chain = certificates ?? self.chain()
            certificates = chain
            return chain[Int(variable.utf8.last ?? 0x30) - 0x30]
        default:
            let name = FuzzedWallet.PINName(rawValue: String(variable.dropFirst()))
            return name.map { FuzzedWallet.publicKey($0).bytes }
        }
    }

    /// Evidence for the hardware key with the challenge of the enrollment.
    private func chain() -> [[UInt8]] {
        let challenge = sha256(self.enrollment?.token ?? [])
        let description = AndroidPhone().keyDescription(challenge: challenge, at: self.time)
        return self.authority.androidChain(
            for: self.wallet.hardware.publicKey,
            description: description,
            batch: .remote,
            at: self.time
        )
    }

    private func statement(_ purpose: Purpose, _ wallet: WalletID, _ body: [UInt8], counter: UInt64 = 0) -> Statement {
        Statement(purpose, channelBinding: self.binding, walletID: wallet, counter: counter, body: body)
    }

    private mutating func signSession(_ call: inout [Node]) {
        guard let wallet = call.first(1).flatMap({ WalletID($0.bytes) }), let body = call.first(2)?.bytes else {
            return
        }
        if wallet == self.wallet.id, call.first(3)?.bytes == Array("@proof".utf8) { self.hasHardware = true }
        let proved = self.statement(.session, wallet, body)
        call.replace(3, if: "@proof", by: self.wallet.hardware.signature(for: proved.bytes).bytes)
    }

    private func signRegistration(_ call: inout [Node]) {
        guard let wallet = self.enrollment?.walletID, let node = call.first(2) else { return }
        let (body, key) = (node.bytes, node.children.first(1)?.bytes ?? [])
        let name = FuzzedWallet.name(of: key) ?? .right
        call.replace(3, if: "@sign", by: FuzzedWallet.sign(self.statement(.registerPIN, wallet, body), by: name).bytes)
        let proved = self.statement(.registerDevice, wallet, body)
        call.replace(4, if: "@proof", by: self.wallet.hardware.signature(for: proved.bytes).bytes)
    }

    private mutating func signInstruction(_ call: inout [Node]) {
        guard let node = call.first(2), let place = call.firstIndex(where: { $0.field == 1 }) else { return }
        if call[place].bytes == [Self.counterVariable] {
            call[place].content = .bytes([UInt8(truncatingIfNeeded: self.nextCounter)])
            self.nextCounter = min(self.nextCounter + 1, 199)
        }
        let (counter, body) = (ProtobufFormat.number(call[place].bytes), node.bytes)
        let candidate = node.children.first(3)?.bytes ?? []
        let name = FuzzedWallet.name(of: candidate) ?? .wrong
        let signed = self.statement(.instructPIN, self.wallet.id, body, counter: counter)
        let signature = FuzzedWallet.sign(signed, by: name)
        if call.first(3)?.bytes == Array("@sign".utf8), name != .wrong { self.hasPIN = true }
        call.replace(3, if: "@sign", by: signature.bytes)
        let newKey = node.children.first(5)?.children.first(1)?.bytes ?? []
        let new = FuzzedWallet.name(of: newKey) ?? .second
        let renewed = self.statement(.newPIN, self.wallet.id, body, counter: counter)
        call.replace(4, if: "@sign", by: FuzzedWallet.sign(renewed, by: new).bytes)
    }
}
