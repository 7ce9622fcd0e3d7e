package import Wire

/// The next event on a connection.
package enum Incoming: Sendable {
    case request(Request)
    /// Answer `malformed` to the id; then close the connection if ``Violation/endsConnection`` is true.
    case violation(Violation, id: UInt64)
    /// The connection has ended, or the listener stops: finish the pending answers and return.
    case closed
}

/// A violation of the protocol by a peer.
package enum Violation: Error, Hashable, Sendable {
    case frame(FrameViolation)
    case message(WireError)

    /// True if the connection must be closed after the answer; false if a well-formed request has
    /// an invalid value.
    package var endsConnection: Bool {
        switch self {
        case .frame, .message(.notProtobuf), .message(.overBudget): true
        case .message(.invalid), .message(.missing), .message(.unknownField), .message(.unknownInstruction): false
        }
    }
}
