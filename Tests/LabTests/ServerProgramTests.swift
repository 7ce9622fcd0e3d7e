import Foundation
import Lab
import Testing

@Suite("Started programs and their end")
struct ServerProgramTests {
    /// Runs in a separate process, in which no other code opens files.
    @Test("a program that is started and killed again and again leaves no file open")
    func files() async {
        await #expect(processExitsWith: .success) {
            func openCount() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            func startAndKill() async throws {
                let program = try await ServerProgram.start("/bin/sh", ["-c", "echo ready on nothing; exec cat"])
                await program.kill()
            }
            // Descriptors that Foundation opens once for all programs.
            try await startAndKill()
            let before = try openCount()
            let times = 20
            for _ in 0..<times { try await startAndKill() }
            // Each program has two pipes; some of the last one's sockets may not be closed yet.
            guard try openCount() < before + times else { exit(1) }
        }
    }

    @Test("a program that neither becomes ready nor ends is killed after its timeout")
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

    @Test("a program without a timeout is killed when the waiting task is cancelled")
    func cancelled() async throws {
        let starting = Task { try await ServerProgram.start("/bin/sh", ["-c", "exec cat"]) }
        starting.cancel()
        await #expect(throws: ServerProgram.NotReady.self) { _ = try await starting.value }
    }

    @Test("a program whose children hold its output is not waited for beyond the limit")
    func others() async throws {
        // The shell is killed; its child lives until its input ends, which this process also controls. The
        // shell reports readiness only after starting the child: if killed earlier, it would leave nothing
        // behind.
        let script = "exec 3<&0; cat <&3 & echo ready on nothing; wait"
        let program = try await ServerProgram.start("/bin/sh", ["-c", script])
        #expect(await !program.kill(within: .milliseconds(200)))
    }
}
