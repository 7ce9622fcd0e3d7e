/// A place in the app that a command or the host can open directly, on top of the current screen.
package enum AppDestination: Hashable, Sendable {
    /// Changing the PIN.
    ///
    /// Only available while the wallet is unlocked.
    case changePIN
    /// The deletion code.
    ///
    /// Only available while the wallet is unlocked.
    case deletionCode
    /// The wipe, at any time.
    ///
    /// Like `Forgot PIN?`, it does not require the PIN.
    case wipe
}
