/// The role required for a command; each role includes the roles before it.
package enum AdminRole: String, Comparable, Sendable, CaseIterable {
    /// Can view the state of the server, but not the records of wallets.
    case observer
    /// Can view wallets, and revoke them one at a time.
    case support
    /// Can run all commands.
    case security

    package static func < (one: AdminRole, other: AdminRole) -> Bool {
        Self.allCases.firstIndex(of: one) ?? 0 < Self.allCases.firstIndex(of: other) ?? 0
    }
}
