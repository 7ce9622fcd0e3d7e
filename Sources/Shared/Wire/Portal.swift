package import Vocabulary

/// A request from the deletion portal to a running server.
///
/// The response has the same id.
package struct PortalRequest: Hashable, Sendable {
    package var id: UInt64
    /// The code as typed by the user.
    ///
    /// Its length must be permitted, but it is looked up even if it is invalid.
    package var code: String
    /// The user's IP address in text form.
    package var source: String

    /// The permitted lengths of a typed code, in bytes.
    package static let codeByteCounts = 1...64
    /// The permitted lengths of an address, in bytes.
    ///
    /// The shortest is `::`, and the longest is an IPv4-mapped IPv6 address.
    package static let sourceByteCounts = 2...45

    package init(id: UInt64, code: String, source: String) {
        self.id = id
        self.code = code
        self.source = source
    }
}

/// The code is the owner's secret, so it is not included when a request is printed.
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

/// The result for a deletion code that was entered in the portal.
package enum PortalResult: Hashable, Sendable {
    /// The wallet was revoked by this request or an earlier one.
    ///
    /// The time is that of the first revocation.
    case revoked(at: Timestamp)
    /// No wallet has this code.
    ///
    /// This does not reveal whether the code is invalid or unknown.
    case notRecognised
    /// The code was not looked up.
    ///
    /// Retry after the given time.
    case rateLimited(retryAfter: Duration)
    /// The request had no effect.
    ///
    /// Retry after the given time.
    case unavailable(retryAfter: Duration)
    /// The message is malformed, which means that the portal has a bug.
    case malformed

    /// The maximum time to wait before retrying.
    package static let longestWait: Duration = .seconds(86_400)
}
