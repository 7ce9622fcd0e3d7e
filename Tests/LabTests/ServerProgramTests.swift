import Foundation
import Lab
import Testing

@Suite("Programs that are started and end")
struct ServerProgramTests {
    /// In a process of its own, where nobody else opens anything.
    @Test("one that is started and killed again and again leaves no file open")
    func files() async {
        await #expect(processExitsWith: .success) {
            func openCount() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            func startAndKill() async throws {
                let program = try await ServerProgram.start("/bin/sh", ["-c", "echo ready on nothing; exec cat"])
                await program.kill()
            }
            // What Foundation opens once, for all that follow.
            try await startAndKill()
            let before = try openCount()
            let times = 20
            for _ in 0..<times { try await startAndKill() }
            // Each has two pipes; some of the last one's sockets may still be about to be closed.
            guard try openCount() < before + times else { exit(1) }
        }
    }
}
