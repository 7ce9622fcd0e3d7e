import Foundation
import HostSystem
import TestSupport
import Testing

/// The PostgreSQL server of one test, with the role and the database of the servers.
///
/// The role proves its password, and owns its database only.
final class DatabaseUnderTest: Sendable {
    static let password = "a-database's-password"

    private let server: TemporaryPostgreSQL
    var folder: String { self.server.folder }

    init() throws {
        let password = Self.password.replacingOccurrences(of: "'", with: "''")
        self.server = try TemporaryPostgreSQL(
            access: ["local all test trust", "local all all scram-sha-256"],
            statements: [
                "create role remote_pin login password '\(password)'", "create database remote_pin owner remote_pin",
            ]
        )
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

    /// Runs a script as the superuser, after it was written to a file.
    func run(_ script: String, fromFile file: String) async throws {
        try DurableFile.write(Array(script.utf8), to: file)
        let arguments = ["-q", "-h", self.folder, "-U", "test", "-d", "remote_pin", "-v", "ON_ERROR_STOP=1"]
        let done = try await ServerProcess.run("/usr/bin/psql", arguments + ["-f", file])
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
            // After a kill, the next process of the server waits for the end of its lease.
            "REMOTE_PIN_CLUSTER_LEASE": "6s",
        ]
    }

    /// The settings of a server with this name and with sixteen attempts, by the names of their flags.
    func flags(of server: String, folder: String) throws -> [String: String] {
        let settings = try self.settings(of: server, folder: folder).merging(LabUnderTest.sixteenAttempts) { $1 }
        let flags = settings.map { variable, value in
            let words = variable.dropFirst("REMOTE_PIN_".count).lowercased().split(separator: "_")
            return ("\(words[0]).\(words.dropFirst().joined(separator: "-"))", value)
        }
        return Dictionary(uniqueKeysWithValues: flags)
    }
}
