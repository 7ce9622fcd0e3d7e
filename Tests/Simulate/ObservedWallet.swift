internal import HistoryChecker
internal import Vocabulary
internal import Wire

/// A wallet as its messages show it.
final class ObservedWallet {
    /// Nil before the first session.
    var history: WalletHistory?
    /// A revocation was confirmed.
    var isRevoked = false
    var deletionCode: DeletionCode?
    private var keys: [PINKeyID: (generation: Int, key: P256PublicKey)] = [:]
    /// The first operation of each attempt id.
    private var attempts: [AttemptID: Int] = [:]
    private var lastOperation = 0

    /// Notes a PIN key, before the server can know it.
    func add(_ id: PINKeyID, _ key: P256PublicKey) {
        if self.keys[id] == nil { self.keys[id] = (self.keys.count, key) }
    }

    func generation(of id: PINKeyID) -> Int? { self.keys[id]?.generation }

    /// Adds an operation to the history and returns its number.
    func invoke(_ operation: WalletOperation, repeating first: Int? = nil, at now: Timestamp) -> Int {
        self.lastOperation += 1
        self.history?.invoke(self.lastOperation, operation, repeating: first, at: now)
        return self.lastOperation
    }

    func invoke(_ body: InstructBody, at now: Timestamp) -> Int? {
        guard let current = self.keys[body.pinKeyID], self.history != nil else { return nil }
        let isRight = body.candidate == current.key
        var operation = WalletOperation.check(isRight: isRight, generation: current.generation)
        if case .changePIN(let key, let id) = body.instruction {
            self.add(id, key)
            let next = self.generation(of: id) ?? -1
            operation = .change(isRight: isRight, generation: current.generation, to: next)
        }
        let first = self.attempts[body.attemptID]
        let number = self.invoke(operation, repeating: first, at: now)
        if first == nil { self.attempts[body.attemptID] = number }
        return number
    }

    /// The answer as the checker reads it; nil if it does not tell whether the PIN was judged.
    func response(_ result: CallResult) -> WalletResponse? {
        switch result {
        case .openSession(.active(let session)):
            .opened(session.pinState, generation: self.generation(of: session.pinKeyID) ?? -1)
        case .openSession(.revoked): .revoked
        case .judged(let result, let receipt):
            .verdict(Self.verdict(result), VerdictPlace(epoch: receipt.signed.epoch, receipt.leaf))
        case .instruct(let result): .verdict(Self.verdict(result), nil)
        case .refused(let refusal):
            switch refusal.reason {
            case .pinKeyChanged(let current): .pinKeyChanged(current: self.generation(of: current))
            case .revoked: .revoked
            case .unavailable, .internal: nil
            default: .refused
            }
        case .hello, .beginEnrollment, .register, .revokeWithCode, .reportWipe, .confirmShares: .refused
        }
    }

    private static func verdict(_ result: InstructResult) -> PINVerdict {
        switch result {
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode: .valid
        case .wrong(let state): .wrong(state)
        case .blocked(let remaining): .blocked(remaining: remaining)
        case .blockedPermanently: .blockedPermanently
        }
    }
}
