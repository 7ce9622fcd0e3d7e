internal import Secrets
internal import Statements
internal import Vocabulary
internal import Wire

/// The PIN of an entry, with the pair of key id and salt under which it is entered.
enum EnteredPIN: Hashable, Sendable, CustomStringConvertible {
    /// A wrong PIN under the first pair.
    case wrong
    /// The first PIN.
    case first
    /// A wrong PIN under the second pair, which a change of the PIN introduces.
    case wrongForSecond
    /// The second PIN.
    case second

    /// Whether the second pair is named.
    var isOfSecondPair: Bool { self == .wrongForSecond || self == .second }

    var description: String {
        switch self {
        case .wrong: "a wrong PIN"
        case .first: "the first PIN"
        case .wrongForSecond: "a wrong PIN under the second key's id"
        case .second: "the second PIN"
        }
    }
}

/// A message of a client, with all that its bytes depend on besides the connection.
enum Message: Hashable, Sendable, CustomStringConvertible {
    /// Hello and OpenSession, sent together.
    case openSession
    case instruct(counter: UInt8, entry: UInt8, pin: EnteredPIN, changesPIN: Bool)
    case revoke
    /// The operator's command, which is not a client's message.
    case command

    var description: String {
        switch self {
        case .openSession: "OpenSession"
        case .instruct(_, let entry, let pin, let changesPIN):
            "\(changesPIN ? "ChangePIN" : "CheckPIN") with \(pin), attempt \(entry)"
        case .revoke: "RevokeWithCode"
        case .command: "revoke wallet"
        }
    }
}

/// A wallet's phone: its keys, and the signed messages that it sends.
final class Phone {
    let walletID = WalletID.random()
    let deletionCode = DeletionCode.random()
    let firstID = PINKeyID.random()
    let secondID = PINKeyID.random()
    let hardware = Phone.key("000000")
    let first = Phone.key("111111")
    let second = Phone.key("222222")
    private let wrong = Phone.key("333333")
    private var attempts: [UInt8: AttemptID] = [:]
    private var sent: [Sending: [[UInt8]]] = [:]

    private struct Sending: Hashable {
        let message: Message
        let connection: Int
    }

    private static func key(_ digits: String) -> PINKey {
        guard let pin = PIN(copying: Array(digits.utf8)) else { preconditionFailure("six digits are a PIN") }
        return PINKey(pin: pin, salt: .random(count: PINKey.saltByteCount))
    }

    /// The channel binding of every connection in this place.
    static func channelBinding(of connection: Int) -> ChannelBinding {
        guard let binding = ChannelBinding([UInt8](repeating: UInt8(connection + 1), count: 32)) else {
            preconditionFailure("a channel binding has 32 bytes")
        }
        return binding
    }

    /// The frames of a message; the same bytes each time.
    func frames(_ message: Message, on connection: Int) -> [[UInt8]] {
        let sending = Sending(message: message, connection: connection)
        if let frames = self.sent[sending] { return frames }
        let calls: [Call] =
            switch message {
            case .openSession: [.hello(self.hello), .openSession(self.openSession(on: connection))]
            case .instruct(let counter, let entry, let pin, let changesPIN):
                [.instruct(self.instruct(UInt64(counter), entry, pin, changesPIN, on: connection))]
            case .revoke: [.revokeWithCode(self.deletionCode.characters)]
            case .command: preconditionFailure("an operator's command has no frames")
            }
        let frames = calls.enumerated().map { Request(id: UInt64($0.offset + 1), call: $0.element).encoded() }
        self.sent[sending] = frames
        return frames
    }

    private var hello: Hello {
        guard let version = AppVersion("1.0.0"), let text = DeviceText("16") else {
            preconditionFailure("these are a version and a text")
        }
        return Hello(appVersion: version, platform: .android, osVersion: text)
    }

    private func openSession(on connection: Int) -> OpenSession {
        let hello = self.hello
        let body = OpenSessionBody(appVersion: hello.appVersion, osVersion: hello.osVersion).encoded()
        let statement = self.statement(.session, 0, body, on: connection)
        guard let proof = DeviceProof(self.hardware.sign(statement).bytes) else {
            preconditionFailure("a signature is a proof")
        }
        return OpenSession(walletID: self.walletID, body: body, deviceProof: proof)
    }

    private func instruct(
        _ counter: UInt64,
        _ entry: UInt8,
        _ pin: EnteredPIN,
        _ changesPIN: Bool,
        on connection: Int
    ) -> Instruct {
        let attempt = self.attempts[entry] ?? .random()
        self.attempts[entry] = attempt
        func made(by key: borrowing PINKey) -> Instruct {
            let body = InstructBody(
                attemptID: attempt,
                pinKeyID: pin.isOfSecondPair ? self.secondID : self.firstID,
                candidate: key.publicKey,
                instruction: changesPIN
                    ? .changePIN(newKey: self.second.publicKey, newKeyID: self.secondID) : .checkPIN
            ).encoded()
            return Instruct(
                counter: counter,
                body: body,
                pinSignature: key.sign(self.statement(.instructPIN, counter, body, on: connection)),
                newPINSignature: changesPIN
                    ? self.second.sign(self.statement(.newPIN, counter, body, on: connection)) : nil
            )
        }
        switch pin {
        case .wrong, .wrongForSecond: return made(by: self.wrong)
        case .first: return made(by: self.first)
        case .second: return made(by: self.second)
        }
    }

    private func statement(_ purpose: Purpose, _ counter: UInt64, _ body: [UInt8], on connection: Int) -> Statement {
        Statement(
            purpose,
            channelBinding: Self.channelBinding(of: connection),
            walletID: self.walletID,
            counter: counter,
            body: body
        )
    }
}
