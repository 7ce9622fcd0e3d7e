import HostSystem
import LabFiles
import TestSupport
import Testing
import Vocabulary

@Suite("A server with its roots in a module, with the real programs")
struct ModuleProgramTests {
    private let lab: LabUnderTest
    private let daemon: FakeModule

    init() async throws {
        self.lab = try await LabUnderTest()
        self.daemon = try FakeModule(at: "\(self.lab.folder)/keys.sock", rootsOf: self.lab.lab.vaultKeyFile)
    }

    private func settings(_ others: [String: String] = [:]) -> [String: String] {
        let own = [
            "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_VAULT_SOCKET": self.daemon.path,
            "REMOTE_PIN_VAULT_TIME_LIMIT": "500ms", "REMOTE_PIN_OBSERVATION_LISTEN": "127.0.0.1:0",
            "REMOTE_PIN_LISTEN_THREADS": "3",
        ]
        return own.merging(others) { $1 }
    }

    private func check(_ options: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", ["check-config", self.lab.lab.path] + options)
    }

    @Test("a start names the missing setting, the silent daemon and the wrong key; each has its own status")
    func start() async throws {
        let unset = try await self.check()
        #expect(unset.exitCode == 78 && unset.output.contains("`vault.socket` is not set"), "\(unset.output)")
        let silent = try await self.check("--vault.socket", self.daemon.path)
        #expect(silent.exitCode == 69 && silent.output.contains(self.daemon.path), "\(silent.output)")
        try await self.daemon.start()
        let good = try await self.check("--vault.socket", self.daemon.path)
        #expect(good.exitCode == 0, "\(good.output)")
        try await self.daemon.stop()
        var roots = self.daemon.roots
        roots["history-1"] = roots["history-2"]
        let other = FakeModule(at: self.daemon.path, roots: roots)
        try await other.start()
        let wrong = try await self.check("--vault.socket", self.daemon.path)
        let words = ["`history-1`", self.lab.lab.vaultKeyFile]
        #expect(wrong.exitCode == 78 && words.allSatisfy(wrong.output.contains), "\(wrong.output)")
        try await other.stop()
    }

    @Test("the doctor compares the module's keys, and says that losing the module loses every wallet")
    func doctor() async throws {
        func vault() async throws -> JSONValue {
            let options = ["doctor", "--json", self.lab.lab.path, "--vault.socket", self.daemon.path]
            let run = try await ServerProcess.run("remote-pin-server", options)
            let findings = try JSONValue(run.output)["findings"]?.array ?? []
            return try (findings.first { $0["check"]?.string == "vault" }).orThrow()
        }
        try await self.daemon.start()
        let good = try await vault()
        #expect(good["severity"]?.string == "good", "\(good)")
        #expect(
            good["text"]?.string?.contains("in the module: 1; losing the module loses every wallet") == true,
            "\(good)"
        )
        try await self.daemon.stop()
        let silent = try await vault()
        #expect(silent["severity"]?.string == "problem", "\(silent)")
        #expect(silent["text"]?.string?.contains(self.daemon.path) == true, "\(silent)")
        #expect(silent["cure"]?.string?.contains("the module's own backup") == true, "\(silent)")
        let other = FakeModule(at: self.daemon.path, roots: self.daemon.roots.mapValues { $0.reversed() })
        try await other.start()
        let wrong = try await vault()
        #expect(wrong["severity"]?.string == "problem", "\(wrong)")
        #expect(wrong["text"]?.string?.contains("check digits") == true, "\(wrong)")
        try await other.stop()
    }

    @Test("a start waits for the daemon; without it the server is alive and not ready, and is ready again by itself")
    func readiness() async throws {
        async let started = self.lab.start(self.settings())
        // The server has no listener before its vault is open.
        try await self.daemon.start()
        let server = try await started
        let observed = try ObservedServer(server)
        let wallet = try await self.lab.register(pin: "135790")
        #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        #expect(try await observed.value("remote_pin_vault_reachable") == 1)
        #expect(try await observed.value("remote_pin_vault_derive_seconds_count") ?? 0 >= 2)
        try await self.daemon.stop()
        try await poll { try await observed.get("/readyz").contains("503") }
        #expect(try await observed.get("/readyz").contains("remote-pin-keys"))
        #expect(try await observed.get("/livez").contains("200"))
        #expect(try await observed.value("remote_pin_vault_reachable") == 0)
        try await self.daemon.start()
        try await poll { try await observed.get("/readyz").contains("200") }
        #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        let status = try await ServerProcess.run(
            "remote-pin-server",
            ["vault", "status", "--lab", self.lab.lab.path]
        )
        #expect(status.output.contains("module"), "\(status.output)")
        #expect(server.output.contains("the vault's module cannot be used"))
        #expect(await server.terminate() == 0)
    }
}
