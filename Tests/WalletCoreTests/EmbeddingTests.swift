import FoundationEssentials
import Testing
import Vocabulary
import WalletCore

@Suite("Embedding the wallet")
struct EmbeddingTests {
    @Test("docs/embedding.md contains the example that is compiled here")
    func quoted() throws {
        let folder = String(#filePath.dropLast("EmbeddingTests.swift".count))
        let program = try String(contentsOf: URL(filePath: folder + "EmbeddingExample.swift"), encoding: .utf8)
        let page = try String(contentsOf: URL(filePath: folder + "../../docs/embedding.md"), encoding: .utf8)
        #expect(page.contains("```swift\n" + program + "```\n"))
        #expect(program.split(separator: "\n").filter { $0.contains("import ") } == ["import WalletCore"])
    }

    @Test("the example sets a wallet up, leaves it, and follows the lock state")
    func runs() async throws {
        let phone = FakePhone()
        let host = HostApplication(try phone.wallet())
        var steps: [String] = []
        try await host.run { screen in
            steps.append(screen.step)
            guard screen.inputs.isEmpty else { return .type(Array(FakePhone.oldPIN.utf8)) }
            let wanted: [ActionID] = [.skip, .next, .writtenDown]
            return wanted.first { action in screen.actions.contains { $0.id == action } }.map { .select($0) } ?? .leave
        }
        #expect(steps == ["UC1.1/1.1", "UC1.1/1.4", "PF2.9/1.1", "PF2.9/1.3", "UC2.1/1.5", "UC2.1/1.6", "UC3.1/1.1"])
        var states = host.wallet.lockStates.makeAsyncIterator()
        #expect(await states.next() == false)
    }

    @Test("a host needs only a folder, a device and a server")
    func real() async throws {
        let server = TLSDialer.Server(
            host: "127.0.0.1",
            port: 1,
            name: "pin.example",
            trust: .publicKeys([try #require(SHA256Digest(Array(repeating: 1, count: 32)))])
        )
        let folder = FileManager.default.temporaryDirectory.path + "/embedding-\(WalletID.random())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let host = try HostApplication(folder: folder, device: FakePhone().device, server: server)
        #expect(await host.wallet.launch().step == "UC1.2/2.1")
        #expect(await host.wallet.isLocked)
    }
}
