import Foundation
import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing
import Transport
import Wire

/// A running server whose configuration changes.
@Suite("A reload of the configuration")
struct ReloadTests {
    private let lab: LabUnderTest
    /// The configuration of the lab.
    private let original: String
    private let socket: String
    private static let pin = "135790"

    init() async throws {
        self.lab = try await LabUnderTest()
        self.original = try String(contentsOfFile: self.lab.lab.configurationFile, encoding: .utf8)
        self.socket = try self.lab.lab.adminSocket()
    }

    private func start() async throws -> ServerProcess { try await self.lab.start(["REMOTE_PIN_LOG_FILE": "none"]) }

    /// Writes the configuration with other values of some settings.
    private func configure(_ values: [String: String]) throws {
        var text = self.original
        for (name, value) in values {
            let parts = name.split(separator: ".")
            let section = try #require(text.firstRange(of: "\n\(parts[0]):\n"), "\(name)")
            let line = try Regex("(?m)^  #?\(parts[1]): .*$")
            let comment = try #require(text[section.upperBound...].firstRange(of: line), "\(name)")
            text.replaceSubrange(comment, with: "  \(parts[1]): \(value)")
        }
        try text.write(toFile: self.lab.lab.configurationFile, atomically: true, encoding: .utf8)
    }

    /// Returns whether fewer than ten enrollments are allowed at once.
    private func isStrict() async throws -> Bool {
        let connection = try await self.lab.server.greet()
        defer { connection.close() }
        for _ in 0..<10 {
            if case .refused(.rateLimited(_)) = await connection.answer(.beginEnrollment) { return true }
        }
        return false
    }

    /// Runs a command that finds the server by its socket, and so does not read the configuration.
    private func admin(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", ["admin"] + arguments + ["--socket", self.socket])
    }

    @Test("a server is not ready while a local socket is missing; SIGHUP makes it again; another server cannot take it")
    func sockets() async throws {
        let server = try await self.lab.start([
            "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_OBSERVATION_LISTEN": "127.0.0.1:0",
            "REMOTE_PIN_PORTAL_SOCKET": "\(self.lab.folder)/portal.sock",
        ])
        let observed = try ObservedServer(server)
        @Sendable func isReady() async throws -> Bool { try await observed.get("/readyz").hasPrefix("HTTP/1.1 200") }
        #expect(try await isReady())
        for (count, path) in zip(1..., [self.socket, "\(self.lab.folder)/portal.sock"]) {
            try DurableFile.remove(path)
            #expect(try await observed.get("/readyz").contains("socket is missing"))
            #expect(try await observed.value("remote_pin_ready") == 0)
            server.send(SIGHUP)
            // Until the reload has ended, it would also make the next socket again.
            let done = "remote_pin_reloads_total{outcome=\"done\"}"
            #expect(await eventually { (try? await observed.value(done)) == Double(count) })
            #expect(try await isReady())
            #expect(DurableFile.exists(path))
        }
        #expect(try await self.admin("status").exitCode == 0)

        let other = try await LabUnderTest()
        for (setting, path) in [
            ("admin.socket", self.socket), ("portal.socket", "\(self.lab.folder)/portal.sock"),
        ] {
            let second = try await ServerProcess.run(
                "remote-pin-server",
                ["serve", other.lab.path, "--\(setting)", path]
            )
            #expect(second.exitCode == 69, "\(second.output)")
            let reason = "`\(setting)`: another process (\(server.processID)) listens on \(path): stop it"
            #expect(second.output.contains(reason), "\(second.output)")
            #expect(DurableFile.exists(path))
        }
        #expect(try await self.admin("status").exitCode == 0)
        #expect(await server.terminate() == 0)
        #expect(!DurableFile.exists(self.socket))
    }

    @Test("live settings change at once, others are named; an invalid configuration changes nothing")
    func settings() async throws {
        let server = try await self.start()
        #expect(try await !self.isStrict())

        // One call in a minute, so that no slow machine is allowed more.
        try self.configure([
            "limits.enrollments-per-source": "1", "limits.enrollment-burst-per-source": "2",
            "limits.connections": "500",
            "log.level": "debug",
        ])
        let changed = try await self.admin("reload")
        #expect(changed.exitCode == 0, "\(changed.output)")
        for text in [
            "changed: limits.enrollments-per-source, limits.enrollment-burst-per-source, log.level",
            "takes effect at the next start: limits.connections",
        ] {
            #expect(changed.output.contains(text), "\(changed.output)")
        }
        #expect(try await self.admin("log-level").output.contains("debug"))
        #expect(try await self.isStrict())

        // A level that an operator set stays if the configuration names the same one.
        #expect(try await self.admin("log-level", "warning").exitCode == 0)
        #expect(try await self.admin("reload").exitCode == 0)
        #expect(try await self.admin("log-level").output.contains("warning"))

        for (wrong, reason) in [
            (["limits.frames-per-source": "-1"], "limits.frames-per-source"),
            (["pin.rounds": "4", "pin.blocks": "[1m, 1m, 1m, 1m]"], "pin.blocks"),
        ] {
            try self.configure(["log.level": "info"].merging(wrong) { $1 })
            server.send(SIGHUP)
            #expect(await server.writes("the old configuration stays"))
            let refused = try await self.admin("reload")
            #expect(refused.exitCode == 74 && refused.output.contains("the old one stays"), "\(refused.output)")
            #expect(refused.output.contains(reason), "\(refused.output)")
            #expect(try await self.admin("log-level").output.contains("warning"))
            #expect(try await self.isStrict())
        }

        try self.configure([:])
        #expect(try await self.admin("reload").exitCode == 0)
        #expect(try await self.admin("log-level").output.contains("info"))
        #expect(try await !self.isStrict())
        #expect(await server.terminate() == 0)
    }

    @Test("a log file that cannot be opened again is named with the reason")
    func logFile() async throws {
        let folder = "\(self.lab.folder)/logs"
        try DurableFile.makeFolder(folder)
        let server = try await self.lab.start(["REMOTE_PIN_LOG_FILE": "\(folder)/server.log"])
        try FileManager.default.removeItem(atPath: folder)
        let reload = try await self.admin("reload")
        #expect(reload.exitCode == 74 && reload.output.contains("\(folder)/server.log"), "\(reload.output)")
        #expect(!reload.output.contains("could not be completed"), "\(reload.output)")
        try DurableFile.makeFolder(folder)
        #expect(try await self.admin("reload").exitCode == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("load balancers change for the next connection; open connections stay")
    func balancers() async throws {
        let server = try await self.start()
        let session = try await self.lab.register(pin: Self.pin).openSession()
        try self.configure(["proxy-protocol.from": "[127.0.0.1]"])
        #expect(try await self.admin("reload").exitCode == 0)
        // TLS without the header that the balancer must send.
        await #expect(throws: ConnectError.self) { try await self.lab.server.connect() }
        #expect(try await session.check(Self.pin).isValid)
        try self.configure([:])
        #expect(try await self.admin("reload").exitCode == 0)
        try await self.lab.server.greet().close()
        #expect(await server.terminate() == 0)
    }

    @Test("a hook that every user can change is refused as at the start, with all other changes, and never runs")
    func hook() async throws {
        let (program, lines) = ("\(self.lab.folder)/hook", "\(self.lab.folder)/lines")
        let script = "#!/bin/sh\necho started >>\(lines)\nexec cat >>\(lines)\n"
        let server = try await self.start()
        let wallet = try await self.lab.register(pin: Self.pin)
        let folder = "\(self.lab.folder)/open"
        try DurableFile.makeFolder(folder)
        for (path, mode, folderMode) in [(program, 0o777, 0o700), ("\(folder)/hook", 0o755, 0o777)] {
            try DurableFile.write(Array(script.utf8), to: path)
            #expect(unsafe chmod(path, mode_t(mode)) == 0 && chmod(folder, mode_t(folderMode)) == 0)
            try self.configure(["hook.program": path, "log.level": "debug"])
            let reload = try await self.admin("reload")
            #expect(reload.exitCode == 74, "\(reload.output)")
            #expect(reload.output.contains("every user of this machine can change it"), "\(reload.output)")
            #expect(try await self.admin("log-level").output.contains("info"))
            let check = try await ServerProcess.run("remote-pin-server", ["check-config", self.lab.lab.path])
            #expect(check.exitCode == 78 && check.output.contains("`hook.program`"), "\(check.output)")
        }
        #expect(!DurableFile.exists(lines))

        try self.configure(["hook.program": program])
        #expect(unsafe chmod(program, 0o755) == 0)
        #expect(try await self.admin("reload").exitCode == 0)
        #expect(try await self.admin("revoke", "wallet", "\(wallet.walletID)").exitCode == 0)
        #expect(await eventually { (try? String(contentsOfFile: lines, encoding: .utf8))?.contains("revoked") == true })
        #expect(await server.terminate() == 0)
    }
}
