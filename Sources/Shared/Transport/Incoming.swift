package import Wire

/// The next event on a connection.
package enum Incoming: Sendable {
    case request(Request)
    /// A violation.
    ///
    /// Answer the call that has this id with `malformed`, then close the connection if ``Violation/endsConnection`` is
    /// true.
    case violation(Violation, id: UInt64)
    /// The connection has ended or the listener is stopping.
    ///
    /// Finish the pending answers and return.
    case closed
}

/// A protocol violation by the peer.
package enum Violation: Error, Hashable, Sendable {
    case frame(FrameViolation)
    case message(WireError)

    /// Whether the connection must be closed after the answer.
    ///
    /// This is not necessary if the request was well-formed, but contained an invalid value.
    package var endsConnection: Bool {
        switch self {
        case .frame, .message(.notProtobuf), .message(.overBudget): true
        case .message(.invalid), .message(.missing), .message(.unknownField), .message(.unknownInstruction): false
        }
    }
}
