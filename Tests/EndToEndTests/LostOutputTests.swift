import TestSupport
import Testing

/// What becomes of a program whose output goes to a disk that is full, or to somebody who reads no more of it.
@Suite("A program's lost output")
struct LostOutputTests {
    /// Some that write it at once, and some whose parser leaves it to the C library; all but the third say more than a
    /// reader that takes one byte.
    private static let commands: [(program: String, arguments: [String], status: Int32)] = [
        ("remote-pin-server", ["settings", "--markdown"], 74),
        ("remote-pin-server", ["--help"], 74),
        ("remote-pin-server", ["--version"], 74),
        ("remote-pin-portal", ["--help"], 74),
        ("pin-load", ["help", "run"], 70),
        ("wallet", ["run", "--schema"], 70),
        ("wallet", ["--help"], 70),
    ]

    /// Runs one of them with its output sent elsewhere by a shell.
    private func run(_ number: Int, to destination: String) async throws -> (run: ProgramRun, status: Int32) {
        let (program, arguments, status) = Self.commands[number]
        let line = "set -o pipefail; \"$0\" \"$@\" \(destination)"
        let run = try await ServerProcess.run("/bin/bash", ["-c", line, Programs.path(program)] + arguments)
        return (run, status)
    }

    @Test("where it does not fit on the disk, it says so and does not end as if all were well", arguments: 0..<7)
    func fullDisk(number: Int) async throws {
        let (run, status) = try await self.run(number, to: ">/dev/full")
        #expect(run.exitCode == status, "\(run.output)")
        #expect(run.output == "standard output is incomplete: No space left on device\n")
    }

    @Test("where it was started without streams, nothing else that it opens takes their numbers")
    func noStreams() async throws {
        let folder = TemporaryFolder()
        let script = """
            "$0" init --lab "$1" >/dev/null
            "$0" lab up "$1" <&- >&- 2>&- &
            grep -qm1 ready < <(tail -n +1 -s 0.1 -F --pid=$! "$1/server/server.log" 2>/dev/null)
            readlink /proc/$!/fd/{0,1,2}
            kill $!; wait $!
            """
        let arguments = ["-c", script, Programs.path("remote-pin-server"), folder.file("lab")]
        let run = try await ServerProcess.run("/bin/bash", arguments)
        #expect(run.output == "/dev/null\n/dev/null\n/dev/null\n")
        #expect(run.exitCode == 74, "that it is ready could not be told")
    }

    @Test("where its reader has had enough, nothing is wrong", arguments: 0..<7)
    func reader(number: Int) async throws {
        let (run, _) = try await self.run(number, to: "| head -c 1")
        #expect(run.exitCode == 0, "\(run.output)")
        #expect(run.output.utf8.count == 1)
    }
}
