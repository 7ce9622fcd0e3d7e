/// A step of a counterexample that a lab can play.
package enum PlayedStep: Hashable, Sendable {
    /// A PIN is entered, and the answer to it is lost this many times. The phone sends the entry again after each.
    case enter(isRight: Bool, lost: Int)
    /// The phone's app starts again, so that it opens another session.
    case newSession
    /// The server is killed and started again.
    case restart
    /// The clock moves forward by a minute.
    case minute
    case revokeWithCode
    /// By an operator's command.
    case revokeWallet
}
