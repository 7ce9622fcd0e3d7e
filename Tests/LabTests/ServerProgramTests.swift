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

    @Test("one that neither becomes ready nor ends is killed when its time is over")
    func hangs() async {
        let error = await #expect(throws: ServerProgram.NotReady.self) {
            _ = try await ServerProgram.start(
                "/bin/sh",
                ["-c", "echo opening the store; exec cat"],
                within: .milliseconds(200)
            )
        }
        #expect(error?.patience == .milliseconds(200))
        #expect(error?.description.contains("was not ready after 0.2 seconds and was killed") == true)
    }

    @Test("one that is waited for without limit is killed with the task that waits for it")
    func cancelled() async throws {
        let starting = Task { try await ServerProgram.start("/bin/sh", ["-c", "exec cat"]) }
        starting.cancel()
        await #expect(throws: ServerProgram.NotReady.self) { _ = try await starting.value }
    }

    @Test("one whose own programs hold its output is not waited for longer than asked for")
    func others() async throws {
        // The shell is killed; what it started lives until its input ends, which is also this process's to end.
        // It says so only once that is started: killed before, it would leave nothing behind.
        let script = "exec 3<&0; cat <&3 & echo ready on nothing; wait"
        let program = try await ServerProgram.start("/bin/sh", ["-c", script])
        #expect(await !program.kill(within: .milliseconds(200)))
    }
}
