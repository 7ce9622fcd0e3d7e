/// The role that a command needs; each role may give the commands of those before it, too.
package enum AdminRole: String, Comparable, Sendable, CaseIterable {
    /// Shows the state of the server, without wallets' records.
    case observer
    /// Shows wallets, and revokes one at a time.
    case support
    /// Gives every command.
    case security

    package static func < (one: AdminRole, other: AdminRole) -> Bool {
        Self.allCases.firstIndex(of: one) ?? 0 < Self.allCases.firstIndex(of: other) ?? 0
    }
}
