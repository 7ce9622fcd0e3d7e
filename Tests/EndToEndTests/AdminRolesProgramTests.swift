import Foundation
import Glibc
import LabFiles
import TestSupport
import Testing

@Suite("Roles of operators, with the real programs", .enabled(if: geteuid() == 0))
struct AdminRolesProgramTests {
    private static let roles = [
        "--admin.group", "4242", "--admin.observer-group", "4243", "--admin.support-group", "4244",
        "--admin.security-group", "4245",
    ]

    private let lab: LabUnderTest
    private var socket: String { "\(self.lab.folder)/operators/admin.sock" }

    init() async throws { self.lab = try await LabUnderTest() }

    private func start() async throws -> ServerProcess {
        try await ServerProcess.start(
            ["serve", self.lab.lab.path, "--admin.socket", self.socket] + Self.roles
        )
    }

    /// Runs a command as a user with these groups.
    private func run(
        user: Int,
        _ groups: String,
        _ arguments: [String],
        through launcher: [String] = []
    ) async throws -> ProgramRun {
        try await ServerProcess.run(
            "/usr/bin/env",
            ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--groups=\(groups)"] + launcher
                + [Programs.path("remote-pin-server"), "admin"] + arguments + ["--socket", self.socket]
        )
    }

    @Test("the groups of the process that connected decide; a process cannot claim others")
    func groups() async throws {
        let server = try await self.start()
        for (groups, arguments, status, word) in [
            ("4242", ["status"], 77, "no role"), ("4242,4243", ["status"], 0, "version"),
            ("4242,4243", ["wallet", "list"], 77, "role `support`"), ("4242,4244", ["wallet", "list"], 0, "no wallet"),
            ("4242,4244", ["revoke", "solution", "--yes"], 77, "role `security`"),
            ("4242,4245", ["revoke", "solution", "--yes"], 0, "revoked"), ("4243", ["status"], 77, "may not open"),
        ] {
            let run = try await self.run(user: 64_001, groups, arguments)
            #expect(run.exitCode == Int32(status) && run.output.contains(word), "\(groups): \(run.output)")
        }
        // Root of a user namespace is the same user for the server, and its group 0 is none of the machine's.
        let namespace = ["unshare", "--user", "--map-root-user"]
        let isAllowed = try await ServerProcess.run(
            "/usr/bin/env",
            ["setpriv", "--reuid=64001", "--regid=64001", "--groups=4242"] + namespace + ["true"]
        )
        if isAllowed.exitCode == 0 {
            let run = try await self.run(user: 64_001, "4242", ["status"], through: namespace)
            #expect(run.exitCode == 77 && run.output.contains("no role"), "\(run.output)")
        }
        #expect(await server.terminate() == 0)
        let log = try await ServerProcess.run(
            "remote-pin-server",
            ["admin", "audit", "show", "--actor", "64001", "--json", "--lab", self.lab.lab.path]
        )
        let phases = (try JSONValue(log.output)["entries"]?.array ?? []).compactMap { $0["phase"]?.string }
        #expect(phases.count { $0 == "failed" } == (isAllowed.exitCode == 0 ? 4 : 3), "\(log.output)")
    }

    @Test("role groups without a group that opens the socket are rejected at the start and by check-config")
    func configuration() async throws {
        for arguments in [
            ["--admin.security-group", "4245"],
            ["--admin.group", "4242", "--admin.support-group", "no-such-group"],
        ] {
            for command in ["serve", "check-config"] {
                let run = try await ServerProcess.run("remote-pin-server", [command, self.lab.lab.path] + arguments)
                #expect(run.exitCode == 78 && run.output.contains("`admin."), "\(run.output)")
            }
        }
    }
}
