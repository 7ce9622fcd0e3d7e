internal import ArgumentParser

/// Speaks to a running server.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Give a running server a command, over its socket.",
        discussion: """
            The server is named by its folder with --lab, its configuration with --config or its socket with --socket; \
            only its own user, and members of `admin.group`, may open the socket. What a command changes holds at once and after a restart.

              remote-pin-server admin status --lab /tmp/lab
              remote-pin-server admin wallet show 3f9c01… --lab /tmp/lab
              remote-pin-server admin revoke wallet 3f9c01… --config server.yaml
              remote-pin-server admin flags --json --socket /run/remote-pin/admin.sock
              remote-pin-server admin update-policy set ios ..1.4=block --lab /tmp/lab
              remote-pin-server admin clock advance 61s --lab /tmp/lab

            Every command prints a table, or with --json one JSON object in a line. Exit status: 0 done, 1 not done and \
            nothing is wrong (a code that is not on the list, a phrase that was not typed), 64 usage, 65 the audit log \
            is not as it was written, 67 no such wallet, 69 no server answers or it cannot do it now, 70 the server found its own data damaged (see its log), \
            76 server and program are of different versions, 77 not by this server.
            """,
        subcommands: [
            AdminStatus.self, AdminSessions.self, AdminWallet.self, AdminRevoke.self, AdminRestore.self,
            AdminDenyList.self, AdminFlags.self,
            AdminUpdatePolicy.self, AdminReload.self, AdminLogLevel.self, AdminAudit.self, AdminClock.self,
        ]
    )
}
