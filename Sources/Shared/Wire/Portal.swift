package import Vocabulary

/// What the deletion portal asks of a running server, with the id that the answer repeats.
package struct PortalRequest: Hashable, Sendable {
    package var id: UInt64
    /// As it was typed, of an allowed length; what is no code is looked up as well.
    package var code: String
    /// The IP address of the person who asks, as text.
    package var source: String

    /// Bytes of a code as it is typed.
    package static let codeByteCounts = 1...64
    /// Bytes of an address: `::` is the shortest, an IPv4-mapped IPv6 one the longest.
    package static let sourceByteCounts = 2...45

    package init(id: UInt64, code: String, source: String) {
        self.id = id
        self.code = code
        self.source = source
    }
}

/// The code is a secret of its owner: a request that is printed shows none.
extension PortalRequest: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "PortalRequest(id: \(self.id), (deletion code))" }
    package var debugDescription: String { self.description }
}

/// The answer to the ``PortalRequest`` of the same id.
package struct PortalResponse: Hashable, Sendable {
    package var id: UInt64
    package var result: PortalResult

    package init(id: UInt64, result: PortalResult) {
        self.id = id
        self.result = result
    }
}

/// What became of a deletion code that was typed on the portal.
package enum PortalResult: Hashable, Sendable {
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
    package static let longestWait: Duration = .seconds(86_400)
}
