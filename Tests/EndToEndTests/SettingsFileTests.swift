import HostSystem
import LabFiles
import TestSupport
import Testing

@Suite("A phone's wallet.yaml")
struct SettingsFileTests {
    private let lab: LabUnderTest
    private let home: String

    init() async throws {
        self.lab = try await LabUnderTest()
        self.home = "\(self.lab.folder)/phone"
        try DurableFile.makeFolder(self.home)
    }

    private func open(_ settings: String) async throws -> ProgramRun {
        try DurableFile.write(Array(settings.utf8), to: "\(self.home)/wallet.yaml")
        return try await ServerProcess.run("wallet", ["open", "--home", self.home, "--json"])
    }

    @Test("relative paths start at the file's folder, not at the program's working directory")
    func relativePaths() async throws {
        let server = try await self.lab.start()
        let made = try LabFile(of: self.lab.lab)
        try DurableFile.write(try DurableFile.read(made.caFile, atMost: 1 << 20), to: "\(self.home)/ca.pem")
        let run = try await self.open(
            """
            server: \(made.host):\(made.port)
            server_name: \(made.serverName)
            ca_file: ca.pem
            """
        )
        #expect(run.exitCode == 0 && run.output.contains("UC1.1/1.1"), "\(run.output)")
        #expect(await server.terminate() == 0)
    }

    @Test(
        "wrong keys, keys together with an authority, an empty authority and an international name are rejected",
        arguments: [
            ("public_keys: 6f3a", "must be a list"), ("public_keys: []", "must be a list"),
            ("public_keys: [6f3a]\nca_file: ca.pem", "cannot be combined"),
            ("public_keys: 6f3a\nca_file: ca.pem", "cannot be combined"),
            ("ca_file: empty.pem", "the trusted authority is not a PEM file with a certificate"),
            (
                "server_name: büro.example\npublic_keys: [\(String(repeating: "0f", count: 32))]",
                "is neither an ASCII name nor an address; write an international name as xn--"
            ),
        ]
    )
    func trust(_ refused: (settings: String, words: String)) async throws {
        try DurableFile.write([], to: "\(self.home)/empty.pem")
        let run = try await self.open("server: 127.0.0.1:1\n\(refused.settings)\n")
        #expect(run.exitCode == 64 && run.output.contains(refused.words), "\(run.output)")
    }
}
