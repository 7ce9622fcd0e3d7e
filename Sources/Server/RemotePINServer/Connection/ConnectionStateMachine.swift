internal import Vocabulary

/// The order in which one connection must speak, with no I/O of its own.
///
///     awaitingHello ──hello──▶ greeted ──openSession──▶ inSession ──its end──▶ ended
///           │                     │                        │
///           └─ revokeWithCode ────┴───── revokeWithCode ───┴─ instruct, reportWipe
///
/// Every method is one event. It moves the state first and then says what the call may use, or throws why the call is
/// not for this state. A connection has at most one session, ever: what a session was good for can so never be mixed up
/// with another wallet's.
struct ConnectionStateMachine {
    /// A wallet whose device proved itself on this connection.
    struct Session {
        var identity: OpenedIdentity
        let walletID: WalletID
        /// From here on nothing is instructed any more.
        let endsAt: Timestamp
        /// The counter that the next instruction must carry.
        var nextCounter: UInt64 = 1
    }

    private enum State {
        case awaitingHello
        case greeted(servesVersion: Bool)
        case inSession(Session, servesVersion: Bool)
        /// The session is over; only a new connection has another one.
        case ended
    }

    private var state = State.awaitingHello

    /// Whether a wallet has proved itself here and its session is not over.
    var isInSession: Bool {
        if case .inSession = self.state { true } else { false }
    }

    /// The first call said which version is speaking; `servesVersion` is the update policy's word on it.
    mutating func receiveHello(servesVersion: Bool) throws(OrderViolation) {
        switch self.state {
        case .awaitingHello:
            self.state = .greeted(servesVersion: servesVersion)
        case .greeted, .inSession, .ended:
            throw .notAllowed(.secondHello)
        }
    }

    /// An enrollment begins or ends; possible with and without a session.
    func receiveEnrollment() throws(OrderViolation) {
        switch self.state {
        case .awaitingHello:
            throw .notAllowed(.beforeHello)
        case .greeted(servesVersion: false), .inSession(_, servesVersion: false):
            throw .notAllowed(.blockedVersion)
        case .greeted, .inSession, .ended:
            return
        }
    }

    /// A wallet wants to prove itself; a version that is not served may only do so in order to report its wipe.
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

    /// Whether the answer to OpenSession may hold a share.
    enum ShareRelease: Equatable {
        case allowed
        case withheld
    }

    /// The wallet proved itself.
    ///
    /// - Precondition: ``receiveOpenSession()`` allowed it, and no call was taken in between.
    mutating func sessionOpened(_ session: Session) {
        guard case .greeted(let servesVersion) = self.state else {
            preconditionFailure("calls of one connection are served one after the other")
        }
        self.state = .inSession(session, servesVersion: servesVersion)
    }

    /// An instruction with this counter; the expected one is consumed whatever becomes of the instruction.
    mutating func receiveInstruct(counter: UInt64, at now: Timestamp) throws(OrderViolation) -> Session {
        var (session, servesVersion) = try self.session(at: now)
        guard servesVersion else { throw .notAllowed(.blockedVersion) }
        guard counter == session.nextCounter else { throw .outOfOrder(expected: session.nextCounter) }
        session.nextCounter += 1
        self.state = .inSession(session, servesVersion: servesVersion)
        return session
    }

    /// The wallet says that it wiped itself.
    mutating func receiveReportWipe(at now: Timestamp) throws(OrderViolation) -> Session {
        try self.session(at: now).session
    }

    /// The store has a newer identity for the session's wallet: its PIN was changed, here or on another connection.
    mutating func identityReplaced(by identity: OpenedIdentity) {
        guard case .inSession(var session, let servesVersion) = self.state else { return }
        session.identity = identity
        self.state = .inSession(session, servesVersion: servesVersion)
    }

    private mutating func session(at now: Timestamp) throws(OrderViolation) -> (session: Session, servesVersion: Bool) {
        switch self.state {
        case .inSession(let session, _) where session.endsAt <= now:
            self.state = .ended
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

/// Why a call is not for the state that the connection is in; the connection lives on.
enum OrderViolation: Error, Equatable {
    case notAllowed(Cause)
    /// There is none, or it is over.
    case sessionRequired
    /// Nothing was consumed.
    case outOfOrder(expected: UInt64)

    /// What the log says of it.
    enum Cause: String {
        case beforeHello = "before hello"
        case secondHello = "second hello"
        case secondSession = "second session"
        case blockedVersion = "version is blocked"
    }
}
