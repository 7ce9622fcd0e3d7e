/// The role required for a command.
///
/// Each role includes the ones before it.
package enum AdminRole: String, Comparable, Sendable, CaseIterable {
    /// Can view the state of the server, but no wallet records.
    case observer
    /// Can view wallets and revoke them one at a time.
    case support
    /// Can run all commands.
    case security

    package static func < (one: AdminRole, other: AdminRole) -> Bool {
        Self.allCases.firstIndex(of: one) ?? 0 < Self.allCases.firstIndex(of: other) ?? 0
    }
}
