internal import HistoryChecker
internal import PINPolicy
internal import Secrets
internal import Vocabulary
internal import Wire

/// A wallet as its messages show it.
final class ObservedWallet {
    /// Nil before the first session.
    var history: WalletHistory?
    /// A revocation was confirmed.
    var isRevoked = false
    var deletionCode: DeletionCode?
    /// The time at which it confirmed new shares last.
    var confirmedAt: Int64?
    private var keys: [PINKeyID: (generation: Int, key: P256PublicKey)] = [:]
    /// The first operation of each attempt id.
    private var attempts: [AttemptID: Int] = [:]
    private var lastOperation = 0

    /// Notes a PIN key, before the server can know it.
    func add(_ id: PINKeyID, _ key: P256PublicKey) {
        if self.keys[id] == nil { self.keys[id] = (self.keys.count, key) }
    }

    var newestKey: (id: PINKeyID, key: P256PublicKey)? {
        self.keys.max { $0.value.generation < $1.value.generation }.map { ($0.key, $0.value.key) }
    }

    func generation(of id: PINKeyID) -> Int? { self.keys[id]?.generation }

    // MARK: Promises that a restore does not end

    /// The answers that have left the server.
    private(set) var answers = 0
    /// The attempts whose wrong verdict was told since the last right PIN.
    private var wrong: Set<AttemptID> = []
    /// The wrong verdicts told until an entry of the right PIN whose answer never left the server.
    ///
    /// If it was judged, they no longer count.
    private var wrongBeforeLostRight = 0
    /// The wrong verdicts that restores since then allow besides; nil after one whose rule promises less.
    private var allowedByRestores: Int? = 0
    /// The number of answers from a database that lacks commits.
    ///
    /// An epoch charges only once for all of them.
    var answersInLoss = 0
    /// The number of answers when the permanent block was told.
    private var blockedAfter: Int?
    /// The shares that have left the server, those that would replace them, and the replaced ones.
    private var (shares, nextShares, replacedShares): (Set<[UInt8]>, Set<[UInt8]>, Set<[UInt8]>) = ([], [], [])
    /// The number of answers when shares were replaced last.
    private var replacedAfter = 0
    /// The last operation before a restore.
    private(set) var restoredAfter = 0

    /// The store was replaced by a backup.
    ///
    /// - Parameter covered: Whether the rule was accepted only because its charge covers the loss.
    func restored(_ rule: EpochRule, covered: Bool, _ rules: CheckerRules) {
        guard self.history != nil else { return }
        self.restoredAfter = self.lastOperation
        self.history = WalletHistory(unknownUnder: rules)
        if self.isRevoked { self.history?.revocationReturned() }
        let added: Int? =
            switch rule {
            case .strict: rules.policy.attemptsPerRound
            // Its charge never blocks permanently, so the last guess may be repeated.
            case .chargeOne: covered ? 1 : nil
            case .trust: covered ? 0 : nil
            }
        if let allowed = self.allowedByRestores, let added, self.answersInLoss == 0 {
            self.allowedByRestores = allowed + added
        } else {
            self.allowedByRestores = nil
        }
        self.answersInLoss = 0
        // The backup may have the replaced ones.
        self.replacedShares = []
    }

    /// Takes an answer that leaves the server; returns the promise that it breaks.
    func answered(_ call: Call, _ result: CallResult, began: Int, _ rules: CheckerRules) -> String? {
        self.answers += 1
        var verdict: InstructResult?
        switch result {
        case .judged(let judged, _): verdict = judged
        case .instruct(let judged): verdict = judged
        case .openSession(.active(let session)):
            let isBlocked = session.pinState == .blockedPermanently
            guard !isBlocked || session.presenceShare == nil else {
                return "a permanently blocked wallet gets its presence share"
            }
            return self.told(isBlocked: isBlocked, began: began)
                ?? self.given(session.presenceShare, next: session.nextPresenceShare, began: began)
        case .confirmShares:
            if case .confirmShares(let confirmed) = call, confirmed.unlock, confirmed.presence { self.sharesReplaced() }
            return nil
        default: return nil
        }
        guard case .instruct(let instruct) = call, let body = try? InstructBody(decoding: instruct.body), let verdict
        else { return nil }
        switch verdict {
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode:
            (self.wrong, self.wrongBeforeLostRight, self.allowedByRestores) = ([], 0, 0)
            var problem = self.told(isBlocked: false, began: began)
            if case .pinValid(let share, let next) = verdict {
                problem = problem ?? self.given(share, next: next, began: began)
            }
            return problem
        case .wrong(let state):
            self.wrong.insert(body.attemptID)
            if let allowed = self.allowedByRestores {
                let most = rules.policy.allowance + self.wrongBeforeLostRight + allowed
                guard self.wrong.count <= most else {
                    return "clients received \(self.wrong.count) wrong verdicts; the policy allows \(most)"
                }
            }
            return self.told(isBlocked: state == .blockedPermanently, began: began)
        case .blocked: return self.told(isBlocked: false, began: began)
        case .blockedPermanently: return self.told(isBlocked: true, began: began)
        }
    }

    /// The server will not answer a call, but may have carried it out.
    func answerStayed(to call: Call) {
        guard case .instruct(let instruct) = call, let body = try? InstructBody(decoding: instruct.body),
            let current = self.keys[body.pinKeyID], body.candidate == current.key
        else { return }
        self.wrongBeforeLostRight = self.wrong.count
    }

    /// Notes a share that leaves the server, and the one that is to replace it.
    private func given(_ share: Share?, next: Share?, began: Int) -> String? {
        if let next { self.nextShares.insert(next.exposedBytes()) }
        guard let bytes = share?.exposedBytes() else { return nil }
        self.shares.insert(bytes)
        let isReplaced = self.replacedShares.contains(bytes) && began >= self.replacedAfter
        return isReplaced ? "a replaced share leaves the server" : nil
    }

    /// The wallet has confirmed both next shares: those before them are destroyed.
    private func sharesReplaced() {
        self.replacedShares.formUnion(self.shares.subtracting(self.nextShares))
        self.replacedAfter = self.answers
    }

    private func told(isBlocked: Bool, began: Int) -> String? {
        if isBlocked {
            self.blockedAfter = self.blockedAfter ?? self.answers
        } else if let blocked = self.blockedAfter, began >= blocked {
            return "a stated permanent block is lost"
        }
        return nil
    }

    // MARK: History

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
        // The revocation of the solution says nothing about the wallet.
        case .openSession(.revoked(let revocation)) where revocation.reason == .solution: .refused
        case .openSession(.revoked): .revoked
        case .judged(let result, let receipt):
            .verdict(Self.verdict(result), VerdictPlace(epoch: receipt.signed.epoch, receipt.leaf))
        case .instruct(let result): .verdict(Self.verdict(result), nil)
        case .refused(let refusal):
            switch refusal.reason {
            case .pinKeyChanged(let current): .pinKeyChanged(current: self.generation(of: current))
            case .revoked(let revocation) where revocation.reason == .solution: .refused
            case .revoked: .revoked
            case .internal: nil
            // These include `unavailable`, which promises that nothing was judged.
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

extension CallResult {
    /// Whether the answer states that the wallet is blocked permanently.
    var statesPermanentBlock: Bool {
        switch self {
        case .openSession(.active(let session)): session.pinState == .blockedPermanently
        case .judged(let result, _): result.statesPermanentBlock
        case .instruct(let result): result.statesPermanentBlock
        default: false
        }
    }

    /// Whether the answer contains a share.
    var hasShare: Bool {
        switch self {
        case .openSession(.active(let session)): session.presenceShare != nil
        case .judged(.pinValid, _), .instruct(.pinValid): true
        default: false
        }
    }
}

extension InstructResult {
    fileprivate var statesPermanentBlock: Bool {
        switch self {
        case .wrong(let state): state == .blockedPermanently
        case .blockedPermanently: true
        default: false
        }
    }
}
