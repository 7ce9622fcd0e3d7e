internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// A connection after its Hello, with the session that it may carry.
///
///     greeted ──OpenSession──▶ in session ──Instruct, counters 1, 2, …──▶ in session
///
/// Used by one ``WalletEngine`` only.
final class WalletConnection {
    let channel: any CallChannel
    /// The server's answer to Hello.
    ///
    /// It is reported once, so that a second request for it asks the server again.
    let terms: ServerTerms
    private var areTermsReported = false
    private(set) var session: Session?
    private var isSessionReported = false
    /// True once a share received on this connection has opened a slot.
    ///
    /// This proves that the peer is the server: signatures hold for one connection only, so a peer
    /// that relays calls cannot obtain the share.
    private(set) var isServerProven = false
    /// True after the wallet was locked; a session ends with the time during which the wallet was
    /// unlocked.
    ///
    /// No second session begins here: a connection allows one OpenSession, which may have been sent
    /// although its answer was dropped.
    private(set) var hasSessionEnded = false

    struct Session {
        let walletID: WalletID
        /// The PIN key that the server states to be current.
        var pinKeyID: PINKeyID
        let features: Features
        /// The server's half of the biometric slot's key; nil if the server sent none, and after a
        /// lock.
        var presenceShare: Share?
        /// The share that is to replace it; nil unless the shares are being replaced, and after a lock.
        var nextPresenceShare: Share?
        /// The counter of the next instruction; consumed regardless of the answer.
        var nextCounter: UInt64 = 1
    }

    /// The answer to an OpenSession that was sent directly after the Hello, until it is taken.
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

    /// Takes the answer to the OpenSession that was sent early for this wallet, if one was.
    func takeEarlyOpening(of walletID: WalletID) -> Result<CallResult, CallChannelError>? {
        guard let opening = self.earlyOpening, opening.walletID == walletID else { return nil }
        self.earlyOpening = nil
        return opening.answer
    }

    /// Returns the terms on the first call, then nil.
    func takeTerms() -> ServerTerms? {
        defer { self.areTermsReported = true }
        return self.areTermsReported ? nil : self.terms
    }

    func begin(_ session: Session) {
        self.session = session
        self.isSessionReported = false
    }

    /// Records that a share received on this connection has opened a slot.
    func markServerProven() { self.isServerProven = true }

    /// Drops the presence share; the connection carries no further session.
    func endSession() {
        self.session?.presenceShare = nil
        self.session?.nextPresenceShare = nil
        self.earlyOpening = nil
        self.hasSessionEnded = true
    }

    /// Returns true once for each session whose opening was not reported yet.
    func takeUnreportedSession() -> Bool {
        defer { self.isSessionReported = true }
        return self.session != nil && !self.isSessionReported
    }

    /// Takes the counter for an instruction about to be sent; the opening is too old to be reported
    /// from then on.
    func takeCounter() -> UInt64 {
        self.isSessionReported = true
        guard var session = self.session else { return 0 }
        defer {
            session.nextCounter += 1
            self.session = session
        }
        return session.nextCounter
    }

    /// Records that the next presence share has replaced the current one.
    func presenceShareReplaced() {
        guard let next = self.session?.nextPresenceShare else { return }
        self.session?.presenceShare = next
        self.session?.nextPresenceShare = nil
    }

    /// Records that the server stated another PIN key than at the opening of the session.
    func update(currentPINKey id: PINKeyID) {
        self.session?.pinKeyID = id
    }
}
