internal import Administration
internal import ArgumentParser

/// `admin`: commands for a running server, and commands that read its audit log.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Send a command to a running server over its socket.",
        discussion: """
            Select the server by its lab's folder with --lab, by its configuration with --config or by its socket with \
            --socket. Only the server's user and the members of `admin.group` may open the socket. A change takes \
            effect at once and survives a restart.

              remote-pin-server admin status --lab /tmp/lab
              remote-pin-server admin wallet show 3f9c01… --lab /tmp/lab
              remote-pin-server admin revoke wallet 3f9c01… --config server.yaml
              remote-pin-server admin flags --json --socket /run/remote-pin/admin.sock
              remote-pin-server admin update-policy set ios ..1.4=block --lab /tmp/lab
              remote-pin-server admin clock advance 61s --lab /tmp/lab

            Every command prints a table, or with --json one JSON object on one line. Exit status: 0 done, 1 no effect \
            and no error (a code that is not on the list, a phrase that does not match), 64 usage, 65 the \
            audit log was altered or receipts are wrong, 67 no such wallet, 69 no server answers or it cannot carry \
            the command out now, 70 the server found its own data damaged (see its log), 76 server and program have \
            different versions, 77 not permitted on this server.
            """,
        subcommands: AdminCalls.subcommands + [AdminAudit.self, AdminReceipts.self]
    )
}
