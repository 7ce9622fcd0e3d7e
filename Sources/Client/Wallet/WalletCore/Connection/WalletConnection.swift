internal import Secrets
internal import Transport
internal import Vocabulary
internal import Wire

/// A connection after the Hello, with its session if one has been opened.
///
///     greeted ──OpenSession──▶ in session ──Instruct, counters 1, 2, …──▶ in session
///
/// Only used by a single ``WalletEngine``.
final class WalletConnection {
    let channel: any CallChannel
    /// The server's answer to Hello.
    ///
    /// It is reported only once. If the terms are requested again, the server is asked again.
    let terms: ServerTerms
    private var areTermsReported = false
    private(set) var session: Session?
    private var isSessionReported = false
    /// Whether a share received on this connection has opened a slot.
    ///
    /// This proves that the peer is the server: signatures are valid only for a single connection, so a peer that
    /// relays calls cannot obtain the share.
    private(set) var isServerProven = false
    /// Whether the session has ended because the wallet was locked.
    ///
    /// We cannot start a second session on this connection, because only one OpenSession is allowed per connection, and
    /// it may have been sent even if its answer was dropped.
    private(set) var hasSessionEnded = false

    struct Session {
        let walletID: WalletID
        /// The id of the current PIN key, according to the server.
        var pinKeyID: PINKeyID
        let features: Features
        /// The state of the wallet's PIN attempts when the session was opened, according to the server.
        let pinState: PINState
        /// The server's half of the biometric slot's key, or nil if the server did not send one or the wallet has
        /// been locked.
        var presenceShare: Share?
        /// The share that will replace ``presenceShare``, or nil if no replacement is planned or the wallet has been
        /// locked.
        var nextPresenceShare: Share?
        /// The counter for the next instruction.
        ///
        /// It is used up no matter what the answer is.
        var nextCounter: UInt64 = 1
    }

    /// The answer to an OpenSession that was sent directly after the Hello.
    ///
    /// It is cleared when it is taken.
    private var earlyOpening: EarlyOpening?

    struct EarlyOpening {
        let walletID: WalletID
        let answer: Result<CallResult, CallError>
    }

    init(channel: any CallChannel, terms: ServerTerms, earlyOpening: EarlyOpening?) {
        self.channel = channel
        self.terms = terms
        self.earlyOpening = earlyOpening
    }

    /// Takes the answer to the OpenSession that was sent early for this wallet, if there is one.
    func takeEarlyOpening(of walletID: WalletID) -> Result<CallResult, CallError>? {
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

    /// Drops the presence shares.
    ///
    /// No further session is possible on this connection.
    func endSession() {
        self.session?.presenceShare = nil
        self.session?.nextPresenceShare = nil
        self.earlyOpening = nil
        self.hasSessionEnded = true
    }

    /// Returns true once for a session that has not been reported yet.
    func takeUnreportedSession() -> Bool {
        defer { self.isSessionReported = true }
        return self.session != nil && !self.isSessionReported
    }

    /// Returns the counter for an instruction that is about to be sent.
    ///
    /// After that, the session is too old to be reported.
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
    func update(currentPINKey id: PINKeyID) { self.session?.pinKeyID = id }
}
