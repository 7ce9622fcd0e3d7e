public import Vocabulary

/// What the deletion portal asks of a running server, with the id that the answer repeats.
public struct PortalRequest: Hashable, Sendable {
    public var id: UInt64
    /// As it was typed, of an allowed length; what is no code is looked up as well.
    public var code: String
    /// The IP address of the person who asks, as text.
    public var source: String

    /// Bytes of a code as it is typed.
    public static let codeByteCounts = 1...64
    /// Bytes of an address: `::` is the shortest, an IPv4-mapped IPv6 one the longest.
    public static let sourceByteCounts = 2...45

    public init(id: UInt64, code: String, source: String) {
        self.id = id
        self.code = code
        self.source = source
    }
}

/// The code is a secret of its owner: a request that is printed shows none.
extension PortalRequest: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "PortalRequest(id: \(self.id), (deletion code))" }
    public var debugDescription: String { self.description }
}

/// The answer to the ``PortalRequest`` of the same id.
public struct PortalResponse: Hashable, Sendable {
    public var id: UInt64
    public var result: PortalResult

    public init(id: UInt64, result: PortalResult) {
        self.id = id
        self.result = result
    }
}

/// What became of a deletion code that was typed on the portal.
public enum PortalResult: Hashable, Sendable {
    /// Done, now or before; when it was first revoked.
    case revoked(at: Timestamp)
    /// No wallet has it; whether it could be a code is not said.
    case notRecognised
    /// Nothing was looked up; again after this long.
    case rateLimited(retryAfter: Duration)
    /// Nothing was done; again after this long.
    case unavailable(retryAfter: Duration)
    /// Not the message; mend the portal.
    case malformed

    /// The longest that a portal is told to wait.
    public static let longestWait: Duration = .seconds(86_400)
}
