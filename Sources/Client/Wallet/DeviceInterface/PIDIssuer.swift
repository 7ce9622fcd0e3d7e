public import Vocabulary

/// An issuer of person identification data; this project defines only the interface to it (flows.md
/// UC3.1).
public protocol PIDIssuer: Sendable {
    /// Identifies the user.
    ///
    /// Returns the recovery code of that person, or nil if the identification failed or was
    /// cancelled.
    func obtain() async -> RecoveryCode?
}
