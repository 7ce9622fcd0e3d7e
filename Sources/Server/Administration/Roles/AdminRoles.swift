internal import HostSystem
package import Transport

/// The permissions of the users who can open the admin socket.
package struct AdminRoles: Sendable {
    /// The group for each role.
    ///
    /// If no role has a group, every user who can open the socket may run all commands.
    package var groups: [AdminRole: UInt32]
    /// The user running the server.
    package var owner: UInt32
    /// Returns the name of a user, or nil if the machine has no such user.
    package var nameOfUser: @Sendable (UInt32) -> String? = { Accounts.userName(of: $0) }

    package init(groups: [AdminRole: UInt32] = [:], owner: UInt32 = 0) {
        self.groups = groups
        self.owner = owner
    }

    /// Returns the highest role of a peer, or nil if it is not allowed to run any command.
    ///
    /// Root and the server's user can change all of the server's files anyway, so restricting their role would not stop
    /// them.
    package func role(of peer: LocalPeer) -> AdminRole? {
        guard !self.groups.isEmpty, peer.userID != 0, peer.userID != self.owner else { return .security }
        return AdminRole.allCases.last { role in self.groups[role].map(peer.groupIDs.contains) ?? false }
    }
}
