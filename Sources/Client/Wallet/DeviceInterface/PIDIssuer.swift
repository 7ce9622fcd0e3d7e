public import Vocabulary

/// What gives a wallet the identity of a person; outside this project but for this edge (flows.md UC3.1).
public protocol PIDIssuer: Sendable {
    /// Has the person identified; the recovery code of that person where it succeeds, nil where it was cancelled or failed.
    func obtain() async -> RecoveryCode?
}
