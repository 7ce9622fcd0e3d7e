import Foundation
internal import HostSystem

/// A PostgreSQL server in a temporary folder, reachable only through a socket in that folder.
///
/// The folder is in memory if there is room, since hundreds of tests wait for the syncs of their databases otherwise.
///
/// A shell starts it as an unprivileged user, since PostgreSQL rejects root. The shell reads from a pipe that only this
/// process holds, so the server and its folder are gone when this process ends, however it does.
///
/// Unchecked because Foundation's process and file handle are not declared `Sendable`; nothing uses them after the
/// initializer.
package final class TemporaryPostgreSQL: @unchecked Sendable {
    /// The server could not be started.
    package struct NotStarted: Error {}

    /// The folder of the socket, with the database's files in `data` below it.
    ///
    /// The superuser is `test`.
    package let folder: String
    private let shell: Process
    /// Ends the server once it is closed.
    private let lifeline: FileHandle

    /// A stopped process does not end, so the server continues before it is shut down.
    private static let script = """
        set -e
        folder=$1
        settings=$2
        access=$3
        shift 3
        bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
        as=
        if [ "$(id -u)" = 0 ]; then
            user=postgres
            id $user >/dev/null 2>&1 || user=nobody
            chown $user "$folder"
            as="setpriv --reuid=$user --regid=$(id -g $user) --clear-groups"
        fi
        cd "$folder"
        trap '' INT TERM HUP
        $as "$bin/initdb" -D "$folder/data" -A trust -U test -E UTF8 --no-locale --no-sync >initdb.log 2>&1
        [ -z "$access" ] || printf '%s\\n' "$access" >"$folder/data/pg_hba.conf"
        cat >>"$folder/data/postgresql.conf" <<SETTINGS
        listen_addresses = ''
        unix_socket_directories = '$folder'
        shared_buffers = 16MB
        log_min_messages = fatal
        $settings
        SETTINGS
        $as "$bin/pg_ctl" start -w -s -D "$folder/data" -l "$folder/data/log" </dev/null >&2
        for statement; do
            "$bin/psql" -q -h "$folder" -U test -d postgres -v ON_ERROR_STOP=1 -c "$statement" >&2
        done
        echo ready
        cat >/dev/null
        kill -CONT $(head -n 1 "$folder/data/postmaster.pid") || true
        $as "$bin/pg_ctl" stop -s -m immediate -D "$folder/data" || true
        rm -rf "$folder"
        """

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - settings: Further lines of postgresql.conf.
    ///   - access: The lines of pg_hba.conf; without them every role may connect.
    ///   - statements: Statements that the superuser runs, each in a separate transaction.
    package init(settings: [String] = [], access: [String] = [], statements: [String] = []) throws {
        let memory = "/dev/shm"
        let hasRoom = (try? DiskSpace(of: memory)).map { $0.freeByteCount > 4 << 30 } ?? false
        self.folder = "\(hasRoom ? memory : "/tmp")/remote-pin-postgresql-\(UInt32.random(in: .min ... .max))"
        let (input, output) = (Pipe(), Pipe())
        self.shell = Process()
        self.shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        self.shell.arguments =
            ["-c", Self.script, "sh", self.folder]
            + [settings.joined(separator: "\n"), access.joined(separator: "\n")] + statements
        self.shell.standardInput = input
        self.shell.standardOutput = output
        self.lifeline = input.fileHandleForWriting
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: false)
        try self.shell.run()
        // Empty if the script failed.
        guard !output.fileHandleForReading.availableData.isEmpty else { throw NotStarted() }
    }

    deinit {
        try? self.lifeline.close()
        self.shell.waitUntilExit()
    }
}
