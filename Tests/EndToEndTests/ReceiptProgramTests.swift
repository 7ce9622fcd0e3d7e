import HostSystem
import LabFiles
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("Receipts, with the real programs")
struct ReceiptProgramTests {
    private let lab: LabUnderTest

    init() async throws { self.lab = try await LabUnderTest() }

    private func verify(_ lines: [String], _ keys: [String]) async throws -> ProgramRun {
        let file = "\(self.lab.folder)/receipts.jsonl"
        try DurableFile.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: file)
        let options = keys.flatMap { ["--key", $0] }
        return try await ServerProcess.run("remote-pin-server", ["admin", "receipts", "verify"] + options + [file])
    }

    private func line(_ receipt: Receipt) -> String { "{\"receipt\":\"\(receipt.bytes.hex)\"}" }

    @Test("a set of receipts is verified offline, and the server's log has their newest root")
    func verified() async throws {
        let server = try await self.lab.start()
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        var receipts: [Receipt] = []
        for pin in ["000000", "135790", "000001"] {
            let call = try session.instructCall(pin: pin)
            let answer = try await session.connection.call(.instruct(call), timeout: TestWallet.patience)
            guard case .judged(_, let receipt) = answer else { throw UnexpectedAnswer(answer) }
            receipts.append(receipt)
        }
        #expect(await server.terminate() == 0)
        #expect(server.output.contains("signedRoot="), "\(server.output)")
        let keys = try await ServerProcess.run(
            "remote-pin-server",
            ["admin", "receipts", "keys", "--json", "--lab", self.lab.lab.path]
        )
        let key = try (JSONValue(keys.output)["keys"]?.array.first?.string).orThrow()
        let lines = receipts.map(self.line)
        let whole = try await self.verify(lines + ["not JSON", "{\"level\":\"info\"}"], [key])
        #expect(whole.exitCode == 0 && whole.output.contains("3 receipts"), "\(whole.output)")

        var changed = receipts[1].bytes
        changed[43] ^= 1
        let wrong = try await self.verify([lines[0], "{\"receipt\":\"\(changed.hex)\"}"], [key])
        #expect(wrong.exitCode == 65 && wrong.output.contains("line 2"), "\(wrong.output)")
        let short = try await self.verify(["{\"receipt\":\"\(changed.hex.dropLast(2))\"}"], [key])
        #expect(short.exitCode == 65 && short.output.contains("not a receipt"), "\(short.output)")
        let otherKey = try await self.verify(lines, ["2:\(key.dropFirst(2))"])
        #expect(otherKey.exitCode == 65, "\(otherKey.output)")
        #expect(try await self.verify(lines, []).exitCode == 64)

        let windows = try await self.verify([lines[0] + "\r", "{\"receipt\":\"\(changed.hex)\"}\r"], [key])
        #expect(windows.exitCode == 65 && windows.output.contains("line 2"), "\(windows.output)")
        let none = try await self.verify(["not JSON", "{\"level\":\"info\"}"], [key])
        #expect(none.exitCode == 65 && none.output.contains("no receipt"), "\(none.output)")
    }
}
