import Foundation
import TestSupport
import Testing

@testable import HostSystem

@Suite("Output written by a separate thread")
struct QueuedOutputTests {
    private let folder = TemporaryFolder()

    @Test("if there is no room, the least important lines are dropped, and of the most important ones the oldest")
    func importance() {
        var queue = OutputQueue(capacity: 10)
        for (text, importance) in [("low1", LineImportance.low), ("nor1", .normal), ("lo", .low)] {
            queue.add(text, importance)
        }
        queue.add("nor2", .normal)
        #expect(queue.droppedCount == 1, "low1")
        queue.add("lo3", .low)
        #expect(queue.droppedCount == 2, "lo3")
        queue.add("high1", .high)
        #expect(queue.droppedCount == 4, "lo, nor1")
        queue.add("high2", .high)
        #expect(queue.droppedCount == 5, "nor2")
        queue.add("high3", .high)
        #expect(queue.droppedCount == 6, "high1")
        queue.add("normal", .normal)
        #expect(queue.droppedCount == 7)
        #expect(queue.takeUnreported() == 0, "not while the queue is full")
        #expect(queue.takeFirst(upTo: 1).texts == ["high2"])
        #expect(queue.takeUnreported() == 7)
        #expect(queue.takeUnreported() == 0)
        #expect(queue.takeFirst(upTo: 100).texts == ["high3"])
        #expect(queue.isEmpty)
    }

    @Test("lines of all importances stay in order, in writes of limited size")
    func order() {
        var queue = OutputQueue(capacity: 1 << 20)
        let texts = (0..<500).map { "line \($0)\n" }
        for (number, text) in texts.enumerated() { queue.add(text, LineImportance.allCases[number % 3]) }
        var taken: [String] = []
        while !queue.isEmpty {
            let some = queue.takeFirst(upTo: 100).texts
            #expect(some.joined().utf8.count <= 100)
            taken += some
        }
        #expect(taken == texts)
    }

    @Test("a full pipe delays no caller; the lines follow once there is room, after a report of those dropped")
    func fullPipe() async throws {
        let pipe = FullPipe(in: self.folder)
        let output = QueuedOutput(takingOwnershipOf: try OutputFile.openForAppending(pipe.path, mode: 0o600))
        output.reportDropped { "dropped \($0)\n" }
        let text = String(repeating: "-", count: 99) + "\n"
        for _ in 0..<20_000 { output.write(text, importance: .low) }
        #expect(output.droppedCount > 9_000)
        output.write("important\n", importance: .high)
        output.flush(within: .milliseconds(1))
        let dropped = output.droppedCount
        let written = await pipe.read(until: "important\n")
        #expect(written.contains("dropped \(dropped)\n"))
        #expect(written.split(separator: "\n").count + dropped == 20_002, "each line is written or counted")
        #expect(output.droppedCount == dropped)
    }

    @Test("after rotation lines go to the new file, also if the old one is a pipe that nothing reads")
    func rotation() async throws {
        let pipe = FullPipe(in: self.folder)
        let output = QueuedOutput(takingOwnershipOf: try OutputFile.openForAppending(pipe.path, mode: 0o600))
        output.write("old\n")
        let file = self.folder.file("log")
        output.replace(takingOwnershipOf: try OutputFile.openForAppending(file, mode: 0o600))
        output.write("new\n")
        output.flush(within: .seconds(60))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "new\n")
        #expect(await pipe.read(until: "\n") == "old\n")
    }

    @Test("a reload that leads to the same pipe keeps its descriptor, and starts no further thread")
    func samePipe() async throws {
        let pipe = FullPipe(in: self.folder)
        let output = QueuedOutput(takingOwnershipOf: try OutputFile.openForAppending(pipe.path, mode: 0o600))
        output.write("first\n")
        for _ in 0..<3 {
            let again = try OutputFile.openForAppending(pipe.path, mode: 0o600)
            output.replace(takingOwnershipOf: again)
            #expect(fcntl(again, F_GETFD) == -1, "it is closed")
        }
        output.write("second\n")
        #expect(await pipe.read(until: "second\n") == "first\nsecond\n")
    }

    @Test("lines that a full disk does not take are counted and reported with the next line")
    func fullDisk() async throws {
        let output = QueuedOutput(takingOwnershipOf: try OutputFile.openForAppending("/dev/full", mode: 0o600))
        output.reportDropped { "dropped \($0)\n" }
        output.write("one\n")
        output.flush(within: .seconds(60))
        output.write("two\n")
        output.flush(within: .seconds(60))
        #expect(output.droppedCount == 2)
        let file = self.folder.file("log")
        output.replace(takingOwnershipOf: try OutputFile.openForAppending(file, mode: 0o600))
        output.write("three\n")
        output.flush(within: .seconds(60))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "dropped 2\nthree\n")
    }

    @Test("a line that a full disk cut is completed before the next one, and only whole lines are counted as dropped")
    func cutLine() async throws {
        await #expect(processExitsWith: .success) { [path = self.folder.file("log") as String] in
            let output = QueuedOutput(takingOwnershipOf: try OutputFile.openForAppending(path, mode: 0o600))
            output.reportDropped { "dropped \($0)\n" }
            FileSizeLimit.run(15) {
                for line in ["one 7890\n", "two 7890\n", "three\n"] {
                    output.write(line)
                    output.flush(within: .seconds(60))
                }
            }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "one 7890\ntwo 78")
            #expect(output.droppedCount == 1, "three")
            output.write("four\n")
            output.flush(within: .seconds(60))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "one 7890\ntwo 7890\ndropped 1\nfour\n")
        }
    }

    @Test("of lines that are written together, those before the cut are not counted as dropped")
    func cutBatch() async throws {
        await #expect(processExitsWith: .success) { [path = self.folder.file("log") as String] in
            let output = OpenOutput(takingOwnershipOf: try OutputFile.openForAppending(path, mode: 0o600))
            func written() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
            let lines = ["one\n", "two\n", "three\n"]
            FileSizeLimit.run(8) { #expect(output.write(lines)?.lostCount == 1, "cut between two lines") }
            #expect(output.write(["four\n"]) == nil)
            #expect(try written() == "one\ntwo\nfour\n")
            FileSizeLimit.run(15) { #expect(output.write(lines)?.lostCount == 2) }
            FileSizeLimit.run(16) { #expect(output.write(lines)?.lostCount == 3, "the rest has no room") }
            #expect(output.write(["five\n"]) == nil)
            #expect(try written() == "one\ntwo\nfour\none\nfive\n")
        }
    }

    @Test("a log whose last line was cut, for example by a power failure, continues with a new line")
    func cutEarlier() async throws {
        let path = self.folder.file("log")
        for (before, after) in [("one\ntw", "one\ntw\nthree\n"), ("one\n", "one\nthree\n"), ("", "three\n")] {
            try before.write(toFile: path, atomically: true, encoding: .utf8)
            let output = QueuedOutput(takingOwnershipOf: try OutputFile.openForAppending(path, mode: 0o600))
            output.write("three\n")
            output.flush(within: .seconds(60))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == after)
        }
    }

    @Test("a line of a program's output that a full disk cut is completed before the next one")
    func cutOutput() async throws {
        await #expect(processExitsWith: .success) { [path = self.folder.file("output") as String] in
            dup2(try OutputFile.openForAppending(path, mode: 0o600), STDOUT_FILENO)
            FileSizeLimit.run(8) {
                #expect(!StandardStreams.writeOutput("{\"line\":1}\n"))
                #expect(!StandardStreams.writeOutput("{\"line\":2}\n"))
            }
            #expect(StandardStreams.writeOutput("{\"line\":3}\n"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "{\"line\":1}\n{\"line\":3}\n")
        }
    }
}

/// Output that is written without a queue, to a pipe that nothing reads.
@Suite("Output that nothing reads")
struct UnreadOutputTests {
    private let folder = TemporaryFolder()

    @Test("a program ends although nothing reads its output, with the status of lost output and a message")
    func limit() async throws {
        let (pipe, errors) = (FullPipe(in: self.folder), self.folder.file("errors"))
        await #expect(processExitsWith: .exitCode(7)) { [path = pipe.path as String, errors = errors as String] in
            dup2(try OutputFile.openForAppending(path, mode: 0o600), STDOUT_FILENO)
            dup2(try OutputFile.openForAppending(errors, mode: 0o600), STDERR_FILENO)
            StandardStreams.prepare(statusOfLostOutput: 7, readerLimit: .milliseconds(10))
            #expect(!StandardStreams.writeOutput("one\n"))
            #expect(!StandardStreams.writeOutput("two\n"))
            exit(0)
        }
        let text = try String(contentsOfFile: errors, encoding: .utf8)
        #expect(text == "standard output is incomplete: nothing read it for 0.01 seconds\n")
        #expect(pipe.read().isEmpty)
    }

    @Test("a signal ends the wait, and the program with the status of an interruption")
    func interrupted() async throws {
        let pipe = FullPipe(in: self.folder)
        await #expect(processExitsWith: .exitCode(128 + SIGINT)) { [path = pipe.path as String] in
            dup2(try OutputFile.openForAppending(path, mode: 0o600), STDOUT_FILENO)
            StandardStreams.prepare(statusOfLostOutput: 7, readerLimit: .seconds(3600))
            ProcessEnd.limitStop(to: .seconds(3600)) { _ in }
            kill(getpid(), SIGINT)
            #expect(!StandardStreams.writeOutput("one\n"))
            exit(0)
        }
    }

    @Test("output longer than a pipe is written in full to a slow reader")
    func slowReader() async throws {
        let pipe = FullPipe(in: self.folder)
        let text = String(repeating: "-", count: 200_000) + "end\n"
        let limit = ReaderLimit(time: .seconds(3600), end: -1)
        let output = OpenOutput(
            takingOwnershipOf: try OutputFile.openForAppending(pipe.path, mode: 0o600),
            limit: limit
        )
        async let read = pipe.read(until: "end\n")
        let isWritten = await withCheckedContinuation { continuation in
            DispatchQueue(label: "writer").async { continuation.resume(returning: output.write([text]) == nil) }
        }
        #expect(isWritten)
        #expect(await read == text)
    }
}

/// The limit on the size of files that this process writes (setrlimit(2), RLIMIT_FSIZE).
private enum FileSizeLimit {
    /// Calls `body` with this limit in bytes.
    static func run(_ count: UInt, _ body: () -> Void) {
        signal(SIGXFSZ, SIG_IGN)
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        var limit = rlimit()
        unsafe getrlimit(resource, &limit)
        var lower = limit
        lower.rlim_cur = count
        unsafe setrlimit(resource, &lower)
        body()
        unsafe setrlimit(resource, &limit)
    }
}
