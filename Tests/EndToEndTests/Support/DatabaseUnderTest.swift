import Foundation
import HostSystem
import TestSupport
import Testing

/// A PostgreSQL server of one test, reachable only through a socket in a temporary folder.
///
/// A shell starts it as an unprivileged user, since PostgreSQL rejects root. The shell reads from a pipe that only this
/// process holds, so the server and its folder are gone when this process ends, however it does.
///
/// Unchecked because Foundation's process and file handle are not declared `Sendable`; nothing uses them after the
/// initializer.
final class DatabaseUnderTest: @unchecked Sendable {
    struct NotStarted: Error {}

    static let password = "a database's password"

    let folder: String
    private let shell: Process
    /// Ends the server once it is closed.
    private let lifeline: FileHandle

    /// Makes the role and the database of the servers; the role proves its password, and owns its database only.
    private static let script = """
        set -e
        folder=$1
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
        printf 'local all test trust\\nlocal all all scram-sha-256\\n' >"$folder/data/pg_hba.conf"
        cat >>"$folder/data/postgresql.conf" <<SETTINGS
        listen_addresses = ''
        unix_socket_directories = '$folder'
        shared_buffers = 16MB
        log_min_messages = fatal
        SETTINGS
        $as "$bin/pg_ctl" start -w -s -D "$folder/data" -l "$folder/data/log" </dev/null >&2
        "$bin/psql" -q -h "$folder" -U test -d postgres -v ON_ERROR_STOP=1 -c "$2" -c "$3" >&2
        echo ready
        cat >/dev/null
        kill -CONT $(head -n 1 "$folder/data/postmaster.pid") || true
        $as "$bin/pg_ctl" stop -s -m immediate -D "$folder/data" || true
        rm -rf "$folder"
        """

    init() throws {
        self.folder = "/tmp/remote-pin-database-\(UInt32.random(in: .min ... .max))"
        let (input, output) = (Pipe(), Pipe())
        self.shell = Process()
        self.shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        self.shell.arguments = [
            "-c", Self.script, "sh", self.folder,
            "create role remote_pin login password '\(Self.password.replacingOccurrences(of: "'", with: "''"))'",
            "create database remote_pin owner remote_pin",
        ]
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

    /// The address for servers.
    var address: String { "host=\(self.folder) user=remote_pin dbname=remote_pin" }

    /// The first process of PostgreSQL.
    var processID: Int32 {
        get throws {
            let text = String(
                decoding: try DurableFile.read("\(self.folder)/data/postmaster.pid", atMost: 4096),
                as: UTF8.self
            )
            return try Int32(text.split(separator: "\n").first ?? "").orThrow()
        }
    }

    /// Runs statements as the superuser, who can undo also a database's setting that makes sessions read-only.
    func run(_ statements: String...) async throws {
        let statements = ["set default_transaction_read_only = off"] + statements
        let arguments = ["-q", "-h", self.folder, "-U", "test", "-d", "remote_pin", "-v", "ON_ERROR_STOP=1"]
        let done = try await ServerProcess.run("/usr/bin/psql", arguments + statements.flatMap { ["-c", $0] })
        try #require(done.exitCode == 0, "\(done.output)")
    }

    /// The settings of a server with this name; writes the password's file below `folder`.
    func settings(of server: String, folder: String) throws -> [String: String] {
        let file = "\(folder)/database-password"
        try DurableFile.write(Array("\(Self.password)\n".utf8), to: file)
        return [
            "REMOTE_PIN_STORE_KIND": "postgresql", "REMOTE_PIN_STORE_ADDRESS": self.address,
            "REMOTE_PIN_STORE_PASSWORD_FILE": file, "REMOTE_PIN_STORE_TIME_LIMIT": "30s",
            "REMOTE_PIN_CLUSTER_SERVER": server, "REMOTE_PIN_CLUSTER_DURABILITY": "local",
        ]
    }
}
