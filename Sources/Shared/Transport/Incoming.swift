package import Wire

/// What comes next on a connection.
package enum Incoming: Sendable {
    case request(Request)
    /// Answer `malformed` to the id; then close the connection where ``Violation/endsConnection`` says so.
    case violation(Violation, id: UInt64)
    /// The connection has ended, or the listener stops: answer what is being answered, and return.
    case closed
}

/// How a peer broke the protocol.
package enum Violation: Error, Hashable, Sendable {
    case frame(FrameViolation)
    case message(WireError)

    /// Whether the connection must be closed after the answer: not when a well-formed request said something that it may
    /// not.
    package var endsConnection: Bool {
        switch self {
        case .frame, .message(.notProtobuf), .message(.overBudget): true
        case .message(.invalid), .message(.missing), .message(.unknownField), .message(.unknownInstruction): false
        }
    }
}
