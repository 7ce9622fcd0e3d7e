internal import Vocabulary
internal import Wire

/// Compares the promises about one wallet with all answers to a client.
struct Observer {
    private let wallet: FuzzedWallet
    /// The attempts called wrong since the last right PIN.
    private var wrong: Set<AttemptID> = []
    private var isRevoked = false

    init(_ wallet: FuzzedWallet) {
        self.wallet = wallet
    }

    /// The parts of a client's call that the promises depend on.
    struct Sent {
        var wallet: WalletID?
        var attempt: AttemptID?

        /// - Parameter session: The wallet of the connection's session.
        init(_ frame: [UInt8], session: WalletID?) {
            self.wallet = session
            guard let request = try? Request(decoding: frame) else { return }
            switch request.call {
            case .openSession(let call): self.wallet = call.walletID
            case .instruct(let call): self.attempt = (try? InstructBody(decoding: call.body))?.attemptID
            default: break
            }
        }
    }

    /// Compares an answer with the promises.
    ///
    /// - Parameter fillers: The signatures that the client has made, by connection.
    mutating func observe(_ result: CallResult, to sent: Sent?, _ fillers: [RequestFiller]) {
        switch result.withoutReceipt {
        case .revokeWithCode(.revoked): self.isRevoked = true
        case .reportWipe where sent?.wallet == self.wallet.id: self.isRevoked = true
        case .openSession(.active(let active)) where active.presenceShare != nil && sent?.wallet == self.wallet.id:
            require(fillers.contains(where: \.hasHardware), "a share leaves without the hardware key")
            require(!self.isRevoked, "a share of a revoked wallet leaves")
        case .instruct(let result) where sent?.wallet == self.wallet.id: self.observe(result, to: sent, fillers)
        default: break
        }
    }

    private mutating func observe(_ result: InstructResult, to sent: Sent?, _ fillers: [RequestFiller]) {
        switch result {
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode:
            require(fillers.contains(where: \.hasPIN), "an instruction is carried out without the PIN")
            require(!self.isRevoked, "an instruction of a revoked wallet is carried out")
            self.wrong = []
        case .wrong:
            if let attempt = sent?.attempt { self.wrong.insert(attempt) }
            let most = LiveServer.policy?.allowance ?? 0
            require(
                self.wrong.count <= most,
                "a client knows \(self.wrong.count) wrong verdicts; \(most) are allowed"
            )
        case .blocked, .blockedPermanently: break
        }
    }
}
