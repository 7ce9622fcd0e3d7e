import SimulatedPhone
import HostSystem
import TestSupport
import Testing
import Vocabulary

@Suite("Rejected phones, from the wallet to the server's log")
struct RefusedDevicesTests {
    private let folder = TemporaryFolder()

    @Test(
        "each fault is device-insecure at the wallet and appears with its reason in the server's log",
        arguments: Platform.allCases
    )
    func faults(platform: Platform) async throws {
        let lab = "\(self.folder.path)/lab"
        let made = try await ServerProcess.run("remote-pin-server", ["init", "--lab", lab])
        try #require(made.exitCode == 0, "\(made.output)")
        let running = try await ServerProcess.start(["serve", lab, "--log.file", "none"])
        let pins = "\(self.folder.path)/pins"
        try DurableFile.write(Array("024791\n024791\n".utf8), to: pins)
        for fault in Fault.allCases where fault != .counterReused {
            guard let reason = fault.reason(on: platform) else { continue }
            let run = try await ServerProcess.run(
                "wallet",
                [
                    "setup", "--json", "--lab", lab, "--home", "\(self.folder.path)/\(fault.rawValue)", "--platform",
                    platform == .android ? "android" : "ios", "--fault", fault.rawValue, "--pin-file", pins,
                ]
            )
            #expect(run.exitCode == 14, "\(fault): \(run.output)")
            #expect(run.output.contains(#""device-insecure""#), "\(fault): \(run.output)")
            // The log line may be written after the answer is sent.
            #expect(await running.writes("attestation rejected: \(reason)"), "\(fault)")
        }
        #expect(await running.terminate() == 0)
    }
}
