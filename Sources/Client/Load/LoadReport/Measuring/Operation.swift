/// What a run asks of a server, as one unit that is counted and timed.
package enum Operation: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable, Comparable {
    /// One PIN over a session that is already open.
    case check
    /// A new connection, the opening of a session, and one PIN.
    case unlock
    /// A new PIN in place of the old one.
    case changePIN = "change-pin"
    /// A new wallet.
    case register

    /// The order of the declaration, which is that of every report.
    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    /// The place among all cases.
    var rank: Int {
        switch self {
        case .check: 0
        case .unlock: 1
        case .changePIN: 2
        case .register: 3
        }
    }
}
