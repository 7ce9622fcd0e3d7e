/// A unit of work requested from a server, which a run counts and times.
package enum Operation: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable, Comparable {
    /// Checking a PIN over an open session.
    case check
    /// Opening a new connection and session and checking a PIN.
    case unlock
    /// Changing the PIN.
    case changePIN = "change-pin"
    /// Registering a wallet.
    case register

    /// Orders the cases as declared, which is also their order in every report.
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
