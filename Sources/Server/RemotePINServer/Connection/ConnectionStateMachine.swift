internal import Vault
internal import Vocabulary
internal import WalletStore

/// The order of calls on one connection, without I/O.
///
///     awaitingHello ──hello──▶ greeted ──openSession──▶ inSession ──its end──▶ ended
///                                                           │
///                                                           └─ instruct, confirmShares, reportWipe
///
/// revokeWithCode is allowed in every state; beginEnrollment and register are allowed in every state after Hello,
/// except for a blocked version.
///
/// Each method handles one event. It first changes the state, and then returns the data that the call may use or throws
/// an error that explains why the call is not allowed in this state. A connection never has more than one session, so
/// one wallet's session cannot be confused with another's.
struct ConnectionStateMachine {
    /// The session of a wallet whose device proof was verified on this connection.
    struct Session {
        var identity: OpenedIdentity
        /// The keys that open the wallet's shares and its deletion code.
        let keys: WalletKeys
        /// The time after which instructions are rejected.
        let endsAt: Timestamp
        /// The counter expected in the next instruction.
        var nextCounter: UInt64 = 1
        /// The sealed next shares that were sent on this connection.
        var offered = NextShares()
        /// Whether a CheckPIN on this connection has been valid.
        var hadValidPIN = false

        var walletID: WalletID { self.keys.wallet }
    }

    private enum State {
        case awaitingHello
        case greeted(servesVersion: Bool)
        case inSession(Session, servesVersion: Bool)
        /// The session is over, and a new one requires a new connection.
        case ended(servesVersion: Bool)
    }

    private var state = State.awaitingHello

    /// Whether the connection has a session that is not known to have expired.
    var isInSession: Bool {
        if case .inSession = self.state { return true }
        return false
    }

    /// Rejects a second Hello before it costs anything.
    func requireFirstHello() throws(OrderViolation) {
        guard case .awaitingHello = self.state else { throw .notAllowed(.secondHello) }
    }

    /// Handles the first call.
    ///
    /// - Parameter servesVersion: Whether the update policy allows the client's version.
    mutating func receiveHello(servesVersion: Bool) throws(OrderViolation) {
        try self.requireFirstHello()
        self.state = .greeted(servesVersion: servesVersion)
    }

    /// Handles the start or completion of an enrollment.
    ///
    /// Both are allowed with or without a session.
    func receiveEnrollment() throws(OrderViolation) {
        switch self.state {
        case .awaitingHello:
            throw .notAllowed(.beforeHello)
        case .greeted(servesVersion: false), .inSession(_, servesVersion: false), .ended(servesVersion: false):
            throw .notAllowed(.blockedVersion)
        case .greeted, .inSession, .ended:
            return
        }
    }

    /// Handles a request to open a session.
    ///
    /// A blocked version may only do so to report its wipe.
    func receiveOpenSession() throws(OrderViolation) -> ShareRelease {
        switch self.state {
        case .awaitingHello:
            throw .notAllowed(.beforeHello)
        case .greeted(let servesVersion):
            return servesVersion ? .allowed : .withheld
        case .inSession, .ended:
            throw .notAllowed(.secondSession)
        }
    }

    /// Whether the answer to OpenSession may contain a share.
    enum ShareRelease: Equatable {
        case allowed
        case withheld
    }

    /// Opens the session of a wallet whose proof has been verified.
    ///
    /// - Precondition: ``receiveOpenSession()`` allowed it, and no other call has been received since.
    mutating func sessionOpened(_ session: Session) {
        guard case .greeted(let servesVersion) = self.state else {
            preconditionFailure("calls of one connection are served one after the other")
        }
        self.state = .inSession(session, servesVersion: servesVersion)
    }

    /// Handles an instruction with this counter.
    ///
    /// The expected counter is used up even if the instruction fails.
    mutating func receiveInstruct(counter: UInt64, at now: Timestamp) throws(OrderViolation) -> Session {
        var (session, servesVersion) = try self.session(at: now)
        guard servesVersion else { throw .notAllowed(.blockedVersion) }
        guard counter == session.nextCounter else { throw .outOfOrder(expected: session.nextCounter) }
        session.nextCounter += 1
        self.state = .inSession(session, servesVersion: servesVersion)
        return session
    }

    /// Records that a valid CheckPIN was answered with the unlock share, and with the next share if the shares are
    /// being replaced.
    mutating func unlockShareSent(next: Sealed?) {
        guard case .inSession(var session, let servesVersion) = self.state else { return }
        session.hadValidPIN = true
        session.offered.unlock = next
        self.state = .inSession(session, servesVersion: servesVersion)
    }

    /// Handles a wallet's confirmation that it has sealed its data with the next shares.
    ///
    /// This requires a correct PIN on the same connection. Otherwise, a thief with access to only the hardware key
    /// could replace the share that the owner's phone has sealed its data with.
    mutating func receiveConfirmShares(at now: Timestamp) throws(OrderViolation) -> Session {
        let (session, servesVersion) = try self.session(at: now)
        guard servesVersion else { throw .notAllowed(.blockedVersion) }
        guard session.hadValidPIN else { throw .notAllowed(.noValidPIN) }
        return session
    }

    /// Handles a wallet's report that it has wiped itself.
    mutating func receiveReportWipe(at now: Timestamp) throws(OrderViolation) -> Session {
        try self.session(at: now).session
    }

    /// Replaces the identity of the session's wallet after its PIN was changed or a command resealed it.
    ///
    /// - Parameter elsewhere: Whether the change was made without this connection. The wallet may then have sealed its
    ///   data for the new PIN without the shares that this connection was offered, so they cannot be confirmed before
    ///   another valid PIN.
    mutating func identityReplaced(by identity: OpenedIdentity, elsewhere: Bool = false) {
        guard case .inSession(var session, let servesVersion) = self.state else { return }
        session.identity = identity
        if elsewhere {
            session.hadValidPIN = false
            session.offered.unlock = nil
        }
        self.state = .inSession(session, servesVersion: servesVersion)
    }

    private mutating func session(at now: Timestamp) throws(OrderViolation) -> (session: Session, servesVersion: Bool) {
        switch self.state {
        case .inSession(let session, let servesVersion) where session.endsAt <= now:
            self.state = .ended(servesVersion: servesVersion)
            throw .sessionRequired
        case .inSession(let session, let servesVersion):
            return (session, servesVersion)
        case .awaitingHello:
            throw .notAllowed(.beforeHello)
        case .greeted, .ended:
            throw .sessionRequired
        }
    }
}

/// The reason a call is not allowed in the current state.
///
/// The connection stays open.
enum OrderViolation: Error, Equatable {
    case notAllowed(Cause)
    /// No session is open.
    case sessionRequired
    /// The counter does not match the expected one, which has not been used up.
    case outOfOrder(expected: UInt64)

    /// The text for the log.
    enum Cause: String {
        case beforeHello = "before hello"
        case secondHello = "second hello"
        case secondSession = "second session"
        case blockedVersion = "version is blocked"
        case noValidPIN = "no valid PIN on this connection"
    }
}
