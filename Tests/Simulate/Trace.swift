internal import Vocabulary
internal import Wire

/// The events of a run, in order, without values that depend on random bytes.
struct Trace {
    private(set) var lines: [String] = []
    /// FNV-1a of all lines.
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ time: Int64, _ actor: String, _ text: String) {
        let line = "\(Self.text(time)) \(actor): \(text)"
        for byte in line.utf8 { self.hash = (self.hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        self.lines.append(line)
    }

    /// Days, hours, minutes, seconds and microseconds.
    static func text(_ time: Int64) -> String {
        func padded(_ number: Int64, _ width: Int = 2) -> String {
            let digits = "\(number)"
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let seconds = time / 1_000_000
        return
            "\(seconds / 86_400)d \(padded(seconds / 3600 % 24)):\(padded(seconds / 60 % 60)):\(padded(seconds % 60))"
            + ".\(padded(time % 1_000_000, 6))"
    }
}

/// Names for values that are random, by the order of their first appearance.
struct Names {
    private var wallets: [WalletID: Int] = [:]
    private var keys: [PINKeyID: Int] = [:]
    private var attempts: [AttemptID: Int] = [:]

    private mutating func number<ID: Hashable>(_ path: WritableKeyPath<Names, [ID: Int]>, _ id: ID) -> Int {
        let next = self[keyPath: path].count + 1
        let number = self[keyPath: path][id] ?? next
        self[keyPath: path][id] = number
        return number
    }

    subscript(_ id: WalletID) -> String { mutating get { "wallet \(self.number(\.wallets, id))" } }

    mutating func text(_ call: Call) -> String {
        switch call {
        case .hello: return "Hello"
        case .beginEnrollment: return "BeginEnrollment"
        case .register: return "Register"
        case .openSession(let opening): return "OpenSession of \(self[opening.walletID])"
        case .instruct(let instruct):
            guard let body = try? InstructBody(decoding: instruct.body) else { return "Instruct" }
            let (key, attempt) = (self.number(\.keys, body.pinKeyID), self.number(\.attempts, body.attemptID))
            let name =
                switch body.instruction {
                case .checkPIN: "CheckPIN"
                case .changePIN(_, let next): "ChangePIN to key \(self.number(\.keys, next))"
                case .linkRecoveryCode: "LinkRecoveryCode"
                case .showDeletionCode: "ShowDeletionCode"
                }
            return "\(name), counter \(instruct.counter), attempt \(attempt), key \(key)"
        case .revokeWithCode: return "RevokeWithCode"
        case .reportWipe: return "ReportWipe"
        case .confirmShares: return "ConfirmShares"
        case .unknown: return "an unknown call"
        }
    }

    mutating func text(_ result: CallResult) -> String {
        switch result {
        case .hello: return "terms"
        case .beginEnrollment(let enrollment): return "a token for \(self[enrollment.walletID])"
        case .register: return "registered"
        case .openSession(.active(let session)):
            return "a session: key \(self.number(\.keys, session.pinKeyID)), \(session.pinState)"
        case .openSession(.revoked(let revocation)): return "revoked: \(revocation.reason)"
        case .instruct(let result): return "\(Self.text(result)), no receipt"
        case .judged(let result, let receipt):
            return "\(Self.text(result)), number \(receipt.leaf.number), epoch \(receipt.signed.epoch)"
        case .revokeWithCode(.revoked): return "revoked"
        case .revokeWithCode(.notRecognised): return "the code is not recognised"
        case .reportWipe: return "wiped"
        case .confirmShares: return "shares confirmed"
        case .refused(let refusal):
            if case .pinKeyChanged(let current) = refusal.reason {
                return "refused: the current key is \(self.number(\.keys, current))"
            }
            return "refused: \(refusal.reason)"
        }
    }

    private static func text(_ result: InstructResult) -> String {
        switch result {
        case .pinValid: "right"
        case .pinChanged: "changed"
        case .recoveryCodeLinked: "linked"
        case .deletionCode: "the deletion code"
        case .wrong(let state): "wrong, \(state)"
        case .blocked(let remaining): "blocked for \(remaining)"
        case .blockedPermanently: "blocked permanently"
        }
    }
}
