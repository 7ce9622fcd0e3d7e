internal import AuditLog
internal import HistoryChecker
internal import PINPolicy
internal import Vocabulary
internal import Wire

/// Sees every frame: writes the trace, and checks the answers with the checker of `pin-load` (``WalletHistory``).
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class Observer: @unchecked Sendable {
    private let scheduler: Scheduler
    private let rules: CheckerRules
    /// Whether two servers run: an answer without a share may then leave one of them after a revocation at the other.
    private let isShared: Bool
    private(set) var trace = Trace()
    private(set) var violation: Violation?
    private var wallets: [WalletID: ObservedWallet] = [:]
    /// Requests without an answer, by connection and id.
    private var waiting: [Int: [UInt64: Waiting]] = [:]
    private var names = Names()
    /// The wallet of each enrollment token.
    private var tokens: [[UInt8]: WalletID] = [:]
    /// The wallet of each deletion code.
    private var codes: [String: WalletID] = [:]
    /// The wallet that each connection has registered or opened a session for.
    private var walletOf: [Int: WalletID] = [:]

    /// The connections of thieves, and whether each has the wallet's phone.
    private var thieves: [Int: Bool] = [:]

    func noteThief(on link: Link, hasPhone: Bool) { self.thieves[link.number] = hasPhone }

    /// The PIN key that a wallet has announced last.
    func newestKey(of id: WalletID) -> (id: PINKeyID, key: P256PublicKey)? { self.wallets[id]?.newestKey }

    /// The wallet that a connection has registered or opened a session for.
    func wallet(on link: Link) -> WalletID? { self.walletOf[link.number] }

    private struct Waiting {
        let call: Call
        /// The operation in the wallet's history.
        var operation: Int?
        /// The number of the wallet's answers when the request was sent.
        var began = 0
        /// Whether the answer has left the server.
        var hasLeft = false
    }

    init(_ scheduler: Scheduler, _ rules: CheckerRules, isShared: Bool) {
        self.scheduler = scheduler
        self.rules = rules
        self.isShared = isShared
    }

    private var now: Timestamp { Timestamp(milliseconds: SimulatedClock.start + self.scheduler.now / 1000) }

    /// Adds a line to the trace.
    func note(_ actor: String, _ text: String) {
        self.trace.add(self.scheduler.now, actor, text)
    }

    /// Whether the database lacks confirmed commits, and no epoch has been opened since.
    ///
    /// Until the server that made these commits connects, another one may judge without them.
    var isLossy = false

    /// Whether a bit of the SQLite database has flipped.
    var isDamaged = false

    // MARK: Records

    /// The wallets that an audit log names as revoked, even if the revocation was only begun, or as permanently
    /// blocked.
    private var (ended, blocked): (Set<WalletID>, Set<WalletID>) = ([], [])
    /// Whether an audit log has rejected entries; PIN checks continue in the meantime.
    private var hasRejectedEntries = false

    /// Notes that an entry of an audit log is on disk.
    func recorded(_ entry: AuditEntry, by server: String) {
        let record = entry.record
        self.note(server, "records \(record.event.rawValue): \(record.phase.name)")
        self.found(entry)
    }

    /// Notes an entry of an audit log that is on disk or was found there at a start, because its sync may have failed.
    func found(_ entry: AuditEntry) {
        let record = entry.record
        if RecordedEnds.events.contains(record.event) { self.ended.formUnion(record.subject.wallets) }
        if record.event == .blockedPermanently { self.blocked.formUnion(record.subject.wallets) }
    }

    /// Notes that the disk of an audit log has rejected a write.
    func entryRefused(by server: String) {
        self.note(server, "cannot write to its audit log")
        self.hasRejectedEntries = true
    }

    // MARK: The solution

    /// Whether a revocation of the solution was confirmed, and no restoration has begun since.
    private(set) var isSolutionRevoked = false
    /// Whether the operator has ever revoked the solution.
    private(set) var mayHaveRevokedSolution = false

    /// Whether the last confirmed command about the solution was its restoration.
    var isSolutionRestored = true

    func beginsToRevokeSolution() { (self.mayHaveRevokedSolution, self.isSolutionRestored) = (true, false) }
    func beginsToRestoreSolution() { self.isSolutionRevoked = false }
    func solutionRevoked() {
        guard !self.isSolutionRestored else { return }
        self.note("server", "confirms the revocation of the solution")
        self.isSolutionRevoked = true
    }

    /// Ends the run with a violation; only the first one counts.
    ///
    /// - Parameters:
    ///   - inLoss: Whether the violated rule also holds in a database that lacks commits.
    ///   - isGain: Whether the violated rule also holds in a damaged database.
    func report(_ text: String, inLoss: Bool = false, isGain: Bool = false) {
        guard self.violation == nil, !self.isLossy || inLoss else { return }
        // The operator has to repair the damage; until then, the other rules do not hold.
        guard !self.isDamaged || isGain else { return self.end("the damage shows: \(text)") }
        self.note("VIOLATION", text)
        self.violation = Violation(text)
    }

    /// True once a run has ended that needs an operator who is not simulated.
    private(set) var isEnded = false

    /// Ends the run without a violation.
    func end(_ reason: String) {
        guard !self.isEnded else { return }
        self.note("END", reason)
        self.isEnded = true
    }

    private func check(_ found: HistoryViolation?, _ wallet: WalletID) {
        if let found { self.report("\(self.names[wallet]): \(found)") }
    }

    // MARK: Frames

    func sent(_ payload: [UInt8], _ direction: Link.Direction, on link: Link) {
        switch direction {
        case .toServer:
            guard let request = try? Request(decoding: payload) else { return self.report("a client sends no request") }
            self.note("connection \(link.number)", "-> \(self.names.text(request.call))")
            self.begin(request, on: link.number)
        case .toClient:
            guard let response = try? Response(decoding: payload) else {
                return self.report("a server sends no answer")
            }
            self.note("connection \(link.number)", "<- \(self.names.text(response.result))")
            self.leaves(response, on: link.number)
        }
    }

    /// An answer has reached its client.
    func arrived(_ payload: [UInt8], on link: Link) {
        guard let response = try? Response(decoding: payload),
            let waiting = self.waiting[link.number]?.removeValue(forKey: response.id)
        else { return }
        self.note("connection \(link.number)", "answer \(response.id) arrives")
        self.complete(waiting, response.result, on: link.number)
    }

    /// A client's end of a connection is closed: answers that have not arrived are lost.
    func ended(_ link: Link) {
        let waiting = self.waiting.removeValue(forKey: link.number) ?? [:]
        for (_, waiting) in waiting.sorted(by: { $0.key < $1.key }) {
            guard let operation = waiting.operation, let wallet = self.walletOf[link.number] else { continue }
            if !waiting.hasLeft { self.wallets[wallet]?.answerStayed(to: waiting.call) }
            self.check(self.wallets[wallet]?.history?.lose(operation, at: self.now), wallet)
        }
    }

    /// The server's process has ended: it judges nothing any more that was sent to it.
    func serverEnded() {
        for wallet in self.wallets.values { wallet.history?.serverEnded(by: self.now) }
    }

    /// The server's store was replaced by a backup: the state of every wallet is unknown.
    ///
    /// - Parameter covered: Whether the rule was accepted only because its charge covers the loss.
    func restored(_ rule: EpochRule, covered: Bool) {
        self.isLossy = false
        for wallet in self.wallets.values { wallet.restored(rule, covered: covered, self.rules) }
    }

    private func wallet(_ id: WalletID) -> ObservedWallet {
        if let wallet = self.wallets[id] { return wallet }
        let wallet = ObservedWallet()
        self.wallets[id] = wallet
        return wallet
    }

    private func begin(_ request: Request, on connection: Int) {
        var waiting = Waiting(call: request.call)
        switch request.call {
        case .register(let register):
            guard let body = try? RegisterBody(decoding: register.body) else { break }
            guard let id = self.tokens[register.token] else { break }
            self.walletOf[connection] = id
            self.wallet(id).add(body.pinKeyID, body.pinPublicKey)
        case .openSession(let opening):
            self.walletOf[connection] = opening.walletID
            let wallet = self.wallet(opening.walletID)
            guard wallet.history != nil else { break }
            waiting.operation = wallet.invoke(.opening, at: self.now)
            waiting.began = wallet.answers
        case .instruct(let instruct):
            guard let id = self.walletOf[connection], let body = try? InstructBody(decoding: instruct.body) else {
                break
            }
            waiting.operation = self.wallet(id).invoke(body, at: self.now)
            waiting.began = self.wallet(id).answers
        case .confirmShares: if let id = self.walletOf[connection] { self.wallet(id).confirmedAt = self.scheduler.now }
        case .hello, .beginEnrollment, .revokeWithCode, .reportWipe, .unknown: break
        }
        self.waiting[connection, default: [:]][request.id] = waiting
    }

    /// Checks an answer when it leaves the server: no share may leave after a confirmed revocation.
    private func leaves(_ response: Response, on connection: Int) {
        if let hasPhone = self.thieves[connection] { self.check(response.result, givenToThiefWithPhone: hasPhone) }
        if let id = self.walletOf[connection], let waiting = self.waiting[connection]?[response.id] {
            let wallet = self.wallet(id)
            if self.isLossy { wallet.answersInLoss += 1 }
            self.waiting[connection]?[response.id]?.hasLeft = true
            let problem = wallet.answered(waiting.call, response.result, began: waiting.began, self.rules)
            if let problem { self.report("\(self.names[id]): \(problem)", isGain: true) }
            if response.result.statesPermanentBlock, !self.blocked.contains(id), !self.hasRejectedEntries {
                self.report("\(self.names[id]): a stated permanent block is not on record")
            }
        }
        switch response.result {
        case .beginEnrollment(let enrollment): self.tokens[enrollment.token] = enrollment.walletID
        case .register(let registration):
            if let code = registration.deletionCode, let id = self.walletOf[connection] {
                self.codes[code.characters] = id
                self.wallet(id).deletionCode = code
            }
        case .openSession(.active(let session)) where self.isShared && session.presenceShare == nil: break
        case .judged(.pinChanged, _) where self.isShared: break
        case .openSession(.active), .judged(.pinValid, _), .instruct(.pinValid), .judged(.pinChanged, _):
            if self.isSolutionRevoked {
                self.report("a share or a session leaves after the server confirmed the revocation of the solution")
            }
            guard let id = self.walletOf[connection], let wallet = self.wallets[id], wallet.isRevoked else { break }
            let text = "a share or a session leaves after the server confirmed the revocation"
            self.report("\(self.names[id]): \(text)", isGain: response.result.hasShare)
        case .openSession(.revoked(let revocation)) where revocation.reason == .recoveryCode:
            if let id = self.walletOf[connection] { self.revoked(id) }
        case .reportWipe: if let id = self.walletOf[connection] { self.revoked(id) }
        case .refused(let refusal):
            guard case .revoked(let revocation) = refusal.reason, revocation.reason == .recoveryCode,
                let id = self.walletOf[connection]
            else { break }
            self.revoked(id)
        case .revokeWithCode(.revoked):
            guard case .revokeWithCode(let code)? = self.waiting[connection]?[response.id]?.call,
                let id = self.codes[code]
            else { break }
            self.revoked(id)
        default: break
        }
    }

    /// Checks an answer to a thief, who never knows the PIN.
    private func check(_ result: CallResult, givenToThiefWithPhone hasPhone: Bool) {
        switch result {
        case .openSession(.active) where !hasPhone:
            self.report("a thief without the phone gets a session", isGain: true)
        case .judged, .instruct: self.report("a thief without the PIN gets a verdict", isGain: true)
        case .confirmShares: self.report("a thief without the PIN replaces the shares", isGain: true)
        default: break
        }
    }

    /// A revocation of the wallet was confirmed.
    func revoked(_ id: WalletID) {
        let wallet = self.wallet(id)
        guard !wallet.isRevoked else { return }
        wallet.isRevoked = true
        self.note("server", "confirms the revocation of \(self.names[id])")
        if !self.ended.contains(id) {
            self.report("\(self.names[id]): a confirmed revocation is not on record")
        }
        wallet.history?.revocationReturned()
    }

    private func complete(_ waiting: Waiting, _ result: CallResult, on connection: Int) {
        guard let id = self.walletOf[connection] else { return }
        let wallet = self.wallet(id)
        if case .openSession(.active(let session)) = result, wallet.history == nil {
            // The first session tells which registration was the last one.
            let generation = wallet.generation(of: session.pinKeyID)
            wallet.history = WalletHistory(self.rules, generation: generation ?? -1)
            guard generation != nil, case .open = session.pinState else {
                return self.report("\(self.names[id]): the first session states an impossible key or count")
            }
            return
        }
        guard let operation = waiting.operation, operation > wallet.restoredAfter else { return }
        switch wallet.response(result) {
        case nil: self.check(wallet.history?.lose(operation, at: self.now), id)
        case let response?: self.check(wallet.history?.complete(operation, response, at: self.now), id)
        }
    }

    // MARK: Facts for phones and operators

    /// The wallets whose revocation was confirmed.
    var revokedWallets: [WalletID] { self.wallets.filter { $0.value.isRevoked }.map(\.key) }

    /// The time at which a wallet has confirmed new shares last.
    func confirmation(of id: WalletID) -> Int64? { self.wallets[id]?.confirmedAt }
    func deletionCode(of id: WalletID) -> DeletionCode? { self.wallets[id]?.deletionCode }
    func isRevoked(_ id: WalletID) -> Bool { self.wallets[id]?.isRevoked ?? false }
    func name(of id: WalletID) -> String { self.names[id] }
}
