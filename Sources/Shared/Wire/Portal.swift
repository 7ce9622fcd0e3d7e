package import Vocabulary

/// A request from the deletion portal to a running server; the response has the same id.
package struct PortalRequest: Hashable, Sendable {
    package var id: UInt64
    /// The code as typed by the user; its length must be permitted, but it is looked up even if it is invalid.
    package var code: String
    /// The IP address of the user, as text.
    package var source: String

    /// The permitted lengths of a typed code, in bytes.
    package static let codeByteCounts = 1...64
    /// The permitted lengths of an address, in bytes: `::` is the shortest, an IPv4-mapped IPv6
    /// address the longest.
    package static let sourceByteCounts = 2...45

    package init(id: UInt64, code: String, source: String) {
        self.id = id
        self.code = code
        self.source = source
    }
}

/// The code is the owner's secret, so a printed request does not show it.
extension PortalRequest: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "PortalRequest(id: \(self.id), (deletion code))" }
    package var debugDescription: String { self.description }
}

/// The answer to the ``PortalRequest`` with the same id.
package struct PortalResponse: Hashable, Sendable {
    package var id: UInt64
    package var result: PortalResult

    package init(id: UInt64, result: PortalResult) {
        self.id = id
        self.result = result
    }
}

/// The result of a deletion code typed on the portal.
package enum PortalResult: Hashable, Sendable {
    /// The wallet was revoked by this request or an earlier one. The time is that of the first revocation.
    case revoked(at: Timestamp)
    /// No wallet has this code. This does not say whether the code is invalid or unknown.
    case notRecognised
    /// The code was not looked up; retry after this time.
    case rateLimited(retryAfter: Duration)
    /// The request had no effect; retry after this time.
    case unavailable(retryAfter: Duration)
    /// The message is invalid, which means that the portal has a bug.
    case malformed

    /// The longest retry time in a response.
    package static let longestWait: Duration = .seconds(86_400)
}
