import FoundationEssentials
import HostSystem
import WalletFlows
import Lab
import Testing
import Vocabulary

@testable import SimulatedPhone

@Suite("docs/devices.md and its examples")
struct DocumentationTests {
    /// The root of the repository, relative to this file.
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// True if Python, which the examples need, is installed.
    private static let hasPython = ["/usr/bin", "/usr/local/bin"].contains { DurableFile.exists("\($0)/python3") }

    @Test("the table contains every key of a profile, and the example the simulated boot key")
    func table() throws {
        let page = String(
            decoding: try DurableFile.read(Self.root + "/docs/devices.md", atMost: 1 << 20),
            as: UTF8.self
        )
        #expect(page.contains(DeviceProfile.markdown), "\(DeviceProfile.markdown)")
        #expect(page.contains("boot-keys: [\(AndroidPhone.selfSignedBootKey)]"))
    }

    @Test("the example of a biometric hook answers line by line", .enabled(if: hasPython))
    func biometric() async throws {
        let bench = try HookBench()
        try bench.write("rejected\nconfirmed\n", to: "answers.txt")
        let line = "python3 '\(Self.root)/docs/hooks/biometric.py' '\(bench.folder)/answers.txt'"
        let device = HookedDevice(try bench.phone(), bench.hooks(biometric: HookCommand(line)))
        for result in [PromptResult.rejected, .confirmed, .cancelled] {
            #expect(try await device.authenticate(Prompt(.unlock), .byDevice) == result)
        }
        #expect(bench.reported.isEmpty, "\(bench.reported)")
    }

    @Test("the example of an issuer hook returns the same code for the same person", .enabled(if: hasPython))
    func issuer() async throws {
        let bench = try HookBench()
        let phone = try bench.phone()
        func code(_ name: String) async throws -> RecoveryCode? {
            let line = "python3 '\(Self.root)/docs/hooks/issuer.py' \(name)"
            return await HookedIssuer(for: phone, bench.hooks(issuer: HookCommand(line)))?.obtain()
        }
        let first = try await code("'Jan'")
        #expect(first != nil)
        #expect(try await code("'Jan'") == first)
        #expect(try await code("'Piet'") != first)
        #expect(try await code("") == nil)
        #expect(bench.reported.isEmpty, "\(bench.reported)")
    }
}
