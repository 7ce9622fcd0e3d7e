import TestSupport
import Testing

/// A program whose output goes to a full disk, or to a reader that stops reading.
@Suite("A program's lost output")
struct LostOutputTests {
    /// Commands that write their output directly, and commands whose argument parser uses the C library's buffer.
    ///
    /// All but the third print more than the reader that takes one byte.
    private static let commands: [(program: String, arguments: [String], status: Int32)] = [
        ("remote-pin-server", ["settings", "--markdown"], 74),
        ("remote-pin-server", ["--help"], 74),
        ("remote-pin-server", ["--version"], 74),
        ("remote-pin-portal", ["--help"], 74),
        ("pin-load", ["help", "run"], 70),
        ("wallet", ["run", "--schema"], 70),
        ("wallet", ["--help"], 70),
    ]

    /// Runs a command with its output redirected by a shell.
    private func run(_ number: Int, to destination: String) async throws -> (run: ProgramRun, status: Int32) {
        let (program, arguments, status) = Self.commands[number]
        let line = "set -o pipefail; \"$0\" \"$@\" \(destination)"
        let run = try await ServerProcess.run("/bin/bash", ["-c", line, Programs.path(program)] + arguments)
        return (run, status)
    }

    @Test("a program whose output does not fit on the disk reports it and does not exit with success", arguments: 0..<7)
    func fullDisk(number: Int) async throws {
        let (run, status) = try await self.run(number, to: ">/dev/full")
        #expect(run.exitCode == status, "\(run.output)")
        #expect(run.output == "standard output is incomplete: no space left on device (ENOSPC)\n")
    }

    @Test("a program started without standard streams gives their descriptors to no other file")
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
        #expect(run.exitCode == 74, "the line that announces readiness could not be written")
    }

    @Test("a reader that stops early is not an error", arguments: 0..<7)
    func reader(number: Int) async throws {
        let (run, _) = try await self.run(number, to: "| head -c 1")
        #expect(run.exitCode == 0, "\(run.output)")
        #expect(run.output.utf8.count == 1)
    }
}
