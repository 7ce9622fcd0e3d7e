public import Vocabulary

/// One command of an operator to a running server, with the id that its answer repeats.
public struct AdminRequest: Hashable, Sendable {
    public var id: UInt64
    public var command: AdminCommand

    public init(id: UInt64, command: AdminCommand) {
        self.id = id
        self.command = command
    }
}

/// What an operator asks of a running server.
public enum AdminCommand: Hashable, Sendable {
    /// Moves a lab's clock forward, by whole milliseconds from one to ``longestAdvance``; refused outside a lab.
    case advanceClock(by: Duration)
    /// Well formed, and nothing that this version knows.
    case unknown

    /// Ten years.
    public static let longestAdvance: Duration = .seconds(10 * 366 * 24 * 3600)
}

/// The answer to the ``AdminRequest`` of the same id.
public struct AdminResponse: Hashable, Sendable {
    public var id: UInt64
    public var result: AdminResult

    public init(id: UInt64, result: AdminResult) {
        self.id = id
        self.result = result
    }
}

/// What a command gave.
public enum AdminResult: Hashable, Sendable {
    /// Every timer that the new time makes due has run; the lab's time.
    case clockAdvanced(now: Timestamp)
    /// The command was not done; one sentence for the operator, at most 512 bytes.
    case failed(String)
}
