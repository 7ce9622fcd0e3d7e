/// A step of a counterexample that a lab can play.
package enum PlayedStep: Hashable, Sendable {
    /// An entry of a PIN whose answer is lost this many times.
    ///
    /// The phone sends the entry again after each loss.
    case enter(isRight: Bool, lost: Int)
    /// The app is started again, so it opens another session.
    case newSession
    /// The server is killed and started again.
    case restart
    /// The clock moves forward by a minute.
    case minute
    case revokeWithCode
    /// A revocation by an operator's command.
    case revokeWallet
}
