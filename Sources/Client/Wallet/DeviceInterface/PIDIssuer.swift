public import Vocabulary

/// An issuer of person identification data.
///
/// This project only defines the interface (UC3.1).
public protocol PIDIssuer: Sendable {
    /// Identifies the user.
    ///
    /// Returns the user's recovery code, or nil if the identification failed or was cancelled.
    func obtain() async -> RecoveryCode?
}
