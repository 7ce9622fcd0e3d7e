/// A place in the app that can be opened directly by a command or the host, on top of the current screen.
public enum AppDestination: Hashable, Sendable {
    /// The change of the PIN; only while unlocked.
    case changePIN
    /// The deletion code; only while unlocked.
    case deletionCode
    /// The wipe, at any time: as from `Forgot PIN?`, deleting needs no PIN.
    case wipe
}
