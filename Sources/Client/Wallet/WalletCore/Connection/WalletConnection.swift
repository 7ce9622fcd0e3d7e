internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// A connection after the Hello, and its session if it has one.
///
///     greeted ──OpenSession──▶ in session ──Instruct, counters 1, 2, …──▶ in session
///
/// Used by one ``WalletEngine`` only.
final class WalletConnection {
    let channel: any CallChannel
    /// The server's answer to Hello.
    ///
    /// It is reported only once; a second request for it asks the server again.
    let terms: ServerTerms
    private var areTermsReported = false
    private(set) var session: Session?
    private var isSessionReported = false
    /// True once a share received on this connection has opened a slot.
    ///
    /// This proves that the peer is the server: signatures hold for one connection only, so a peer
    /// that relays calls cannot obtain the share.
    private(set) var isServerProven = false
    /// True after the wallet was locked, because a session ends when the wallet is locked.
    ///
    /// We cannot start a second session on this connection, because only one OpenSession is allowed, and it may have
    /// been sent even if its answer was dropped.
    private(set) var hasSessionEnded = false

    struct Session {
        let walletID: WalletID
        /// The current PIN key according to the server.
        var pinKeyID: PINKeyID
        let features: Features
        /// The server's half of the biometric slot's key; nil if the server did not send one, and after the wallet was
        /// locked.
        var presenceShare: Share?
        /// The share that will replace it; nil after the wallet was locked, and unless the shares are being replaced.
        var nextPresenceShare: Share?
        /// The counter of the next instruction; it is consumed whatever the answer is.
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

    /// Drops the presence share; there cannot be another session on this connection.
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

    /// Takes the counter for an instruction about to be sent; from then on, the opening is too old to be reported.
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

    /// Records that the server reported a different PIN key than when the session was opened.
    func update(currentPINKey id: PINKeyID) {
        self.session?.pinKeyID = id
    }
}
