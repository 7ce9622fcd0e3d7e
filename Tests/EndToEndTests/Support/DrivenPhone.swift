import Foundation
import Glibc
import LabFiles
import Synchronization
import TestSupport

/// A `wallet drive` process, controlled line by line.
final class DrivenPhone: Sendable {
    private let process: Process
    private let input: FileHandle
    private let lines: AsyncStream<String>
    /// All lines written so far.
    let written = Mutex<[String]>([])

    init(_ phone: CommandLinePhone, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Programs.path("wallet"))
        process.arguments = ["drive", "--home", phone.home, "--lab", phone.lab.lab.path] + arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        self.input = input.fileHandleForWriting
        self.process = process
        try process.run()
        let reader = output.fileHandleForReading
        Thread.detachNewThread { [self] in
            var rest = Data()
            while case let data = reader.availableData, !data.isEmpty {
                rest += data
                while let end = rest.firstIndex(of: 0x0A) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    rest = Data(rest[(end + 1)...])
                    self.written.withLock { $0.append(line) }
                    continuation.yield(line)
                }
            }
            // Foundation does not close it.
            try? reader.close()
            continuation.finish()
        }
    }

    /// Writes one line.
    func send(_ line: String) throws {
        try self.input.write(contentsOf: Data((line + "\n").utf8))
    }

    func signal(_ number: Int32) { kill(self.process.processIdentifier, number) }

    /// Closes the input.
    func endInput() throws { try self.input.close() }

    /// Returns the next line for which `holds` is true, or nil if the output ends first.
    func next(where holds: (JSONValue) -> Bool) async throws -> JSONValue? {
        for await line in self.lines {
            let value = try JSONValue(line)
            if holds(value) { return value }
        }
        return nil
    }

    /// Writes one line and returns its answer.
    @discardableResult
    func answer(to line: String) async throws -> JSONValue {
        try self.send(line)
        return try await self.next { ["done", "refused"].contains($0["type"]?.string) }.orThrow()
    }
}
