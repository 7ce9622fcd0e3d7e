/// A place in the app that a command or the host opens directly, on top of the present screen.
public enum AppDestination: Hashable, Sendable {
    /// Only while unlocked.
    case changePIN
    /// Only while unlocked.
    case deletionCode
    /// At any time: deleting needs no PIN, as from `Forgot PIN?`.
    case wipe
}
