internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// One connection after its Hello, with the session that it may carry.
///
///     greeted ──OpenSession──▶ in session ──Instruct, counters 1, 2, …──▶ in session
///
/// Belongs to the engine that made it; never used by two at a time.
final class WalletConnection {
    let channel: any CallChannel
    /// What Hello answered; each answer is reported once, so that asking again asks the server again.
    let terms: ServerTerms
    private var areTermsReported = false
    private(set) var session: Session?
    private var isSessionReported = false
    /// Whether whoever answers here is the server: a share that it gave on this connection has opened a slot.
    ///
    /// What is signed holds for one connection alone, so nobody else could have got that share by passing the calls on.
    private(set) var isServerProven = false
    /// Whether the wallet was locked since: a session ends with the time in which the wallet was open.
    ///
    /// No other one begins here: the one OpenSession that a connection has may have been sent and its answer forgotten.
    private(set) var hasSessionEnded = false

    struct Session {
        /// Whose session it is.
        let walletID: WalletID
        /// The PIN key that the server says counts.
        var pinKeyID: PINKeyID
        let features: Features
        /// The server's half of the biometric slot's key; nil where it gave none, and after a lock.
        var presenceShare: Share?
        /// Of the next instruction; consumed whatever is answered.
        var nextCounter: UInt64 = 1
    }

    /// The answer to an OpenSession that was sent right behind the Hello, until it is asked for.
    private var earlyOpening: EarlyOpening?

    struct EarlyOpening {
        let walletID: WalletID
        let answer: Result<CallResult, CallChannelError>
    }

    init(channel: any CallChannel, terms: ServerTerms, earlyOpening: EarlyOpening?) {
        self.channel = channel
        self.terms = terms
        self.earlyOpening = earlyOpening
    }

    /// What an OpenSession for this wallet was answered, if one was sent already.
    func takeEarlyOpening(of walletID: WalletID) -> Result<CallResult, CallChannelError>? {
        guard let opening = self.earlyOpening, opening.walletID == walletID else { return nil }
        self.earlyOpening = nil
        return opening.answer
    }

    /// The terms, the first time they are asked for.
    func takeTerms() -> ServerTerms? {
        defer { self.areTermsReported = true }
        return self.areTermsReported ? nil : self.terms
    }

    func begin(_ session: Session) {
        self.session = session
        self.isSessionReported = false
    }

    /// A share that was given here has opened a slot.
    func markServerProven() { self.isServerProven = true }

    /// Forgets the shares that this connection was given; it is of no use for a session any more.
    func endSession() {
        self.session?.presenceShare = nil
        self.earlyOpening = nil
        self.hasSessionEnded = true
    }

    /// Whether there is a session whose opening nobody was told of yet.
    func takeUnreportedSession() -> Bool {
        defer { self.isSessionReported = true }
        return self.session != nil && !self.isSessionReported
    }

    /// The counter for an instruction that is about to be sent; what the opening said is old news from then on.
    func takeCounter() -> UInt64 {
        self.isSessionReported = true
        guard var session = self.session else { return 0 }
        defer {
            session.nextCounter += 1
            self.session = session
        }
        return session.nextCounter
    }

    /// The server named another PIN key than it did when the session was opened.
    func update(currentPINKey id: PINKeyID) {
        self.session?.pinKeyID = id
    }
}
