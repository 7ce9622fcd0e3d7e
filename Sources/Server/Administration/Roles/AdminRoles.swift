internal import HostSystem
package import Transport

/// The rights of the users who can open the operators' socket.
package struct AdminRoles: Sendable {
    /// The group of each role.
    ///
    /// Without any, every user who can open the socket may give every command.
    package var groups: [AdminRole: UInt32]
    /// The server's user.
    package var owner: UInt32
    /// The time in which a second person must confirm a command that needs two; nil if no command does.
    package var confirmation: Duration?
    /// Returns the name of a user; nil if the machine has no such user.
    package var nameOfUser: @Sendable (UInt32) -> String? = { Accounts.userName(of: $0) }

    package init(groups: [AdminRole: UInt32] = [:], owner: UInt32 = 0, confirmation: Duration? = nil) {
        self.groups = groups
        self.owner = owner
        self.confirmation = confirmation
    }

    /// The highest role of a peer; nil if it may give no command.
    ///
    /// Root and the server's user can change every file of the server, so a role would not stop them.
    package func role(of peer: LocalPeer) -> AdminRole? {
        guard !self.groups.isEmpty, self.isPerson(peer) else { return .security }
        return AdminRole.allCases.last { role in self.groups[role].map(peer.groupIDs.contains) ?? false }
    }

    /// Returns whether a peer counts as one of two persons.
    ///
    /// Threat: one person requests a command, and confirms it with sudo as root or as the server's user.
    package func isPerson(_ peer: LocalPeer) -> Bool { peer.userID != 0 && peer.userID != self.owner }
}
