/// A unit of work that a run requests from a server, and that it counts and times.
package enum Operation: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable, Comparable {
    /// One PIN over an open session.
    case check
    /// A new connection, a new session and one PIN.
    case unlock
    /// A change of the PIN.
    case changePIN = "change-pin"
    /// A registration of a wallet.
    case register

    /// Orders the cases as they are declared, as every report does.
    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    /// The position among all cases.
    var rank: Int {
        switch self {
        case .check: 0
        case .unlock: 1
        case .changePIN: 2
        case .register: 3
        }
    }
}
