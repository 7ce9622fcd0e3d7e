import Foundation
import Glibc
import LabFiles
import Synchronization
import TestSupport

/// A `wallet` process on a pseudo-terminal that the test controls.
final class AppInTerminal: Sendable {
    private struct State {
        /// The output as bytes, since a read may end within a character.
        var drawn: [UInt8] = []
        /// The position from which the next search starts.
        var start = 0
        var waiting: (word: String, continuation: CheckedContinuation<Bool, Never>)?
        var isClosed = false
    }

    private let process: Process
    private let master: Int32
    private let state = Mutex(State())
    private let (ends, end) = AsyncStream.makeStream(of: Process.TerminationReason.self)

    convenience init(_ phone: CommandLinePhone, on terminal: borrowing PseudoTerminal, kind: String = "xterm") throws {
        try self.init(["app", "--home", phone.home, "--lab", phone.lab.lab.path], on: terminal, kind: kind)
    }

    init(_ arguments: [String], on terminal: borrowing PseudoTerminal, kind: String = "xterm") throws {
        self.master = terminal.master
        self.process = Process()
        self.process.executableURL = URL(fileURLWithPath: Programs.path("wallet"))
        self.process.arguments = arguments
        let settings = ["TERM": kind, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"]
        self.process.environment = ProcessInfo.processInfo.environment.merging(settings) { $1 }
        let slave = FileHandle(fileDescriptor: terminal.slave, closeOnDealloc: false)
        self.process.standardInput = slave
        self.process.standardOutput = slave
        self.process.standardError = FileHandle.nullDevice
        self.process.terminationHandler = { [end] process in
            end.yield(process.terminationReason)
            end.finish()
        }
        try self.process.run()
        // The thread has a separate descriptor, because the next terminal may get the number of this one before the
        // thread ends.
        let output = dup(self.master)
        Thread.detachNewThread { [self] in
            var bytes = [UInt8](repeating: 0, count: 4096)
            while case let count = unsafe read(output, &bytes, bytes.count), count > 0 {
                self.append(bytes[..<count])
            }
            Glibc.close(output)
            self.close()
        }
    }

    deinit { self.send(SIGKILL) }

    /// The output so far.
    var text: String { String(decoding: self.state.withLock(\.drawn), as: UTF8.self) }

    /// Returns true once `word` is drawn after all earlier matches, or false if the terminal closes
    /// first.
    func shows(_ word: String) async -> Bool {
        await withCheckedContinuation { continuation in
            self.state.withLock { state in
                state.waiting = (word, continuation)
                Self.answer(&state)
            }
        }
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe write(self.master, bytes, bytes.count)
    }

    func send(_ signal: Int32) {
        if self.process.isRunning { kill(self.process.processIdentifier, signal) }
    }

    /// Waits for the end of the process and returns its termination.
    func ended() async -> (reason: Process.TerminationReason, status: Int32) {
        for await reason in self.ends { return (reason, self.process.terminationStatus) }
        return (self.process.terminationReason, self.process.terminationStatus)
    }

    /// True if the process is stopped, as by Ctrl-Z.
    var isStopped: Bool {
        let path = "/proc/\(self.process.processIdentifier)/stat"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.components(separatedBy: ") ").last?.hasPrefix("T") ?? false
    }

    private func append(_ bytes: ArraySlice<UInt8>) {
        self.state.withLock { state in
            state.drawn += bytes
            Self.answer(&state)
        }
    }

    private func close() {
        self.state.withLock { state in
            state.isClosed = true
            Self.answer(&state)
        }
    }

    private static func answer(_ state: inout State) {
        guard let (word, continuation) = state.waiting else { return }
        let rest = String(decoding: state.drawn[state.start...], as: UTF8.self)
        if let found = rest.range(of: word) {
            state.start += rest.utf8.distance(from: rest.startIndex, to: found.upperBound)
            state.waiting = nil
            continuation.resume(returning: true)
        } else if state.isClosed {
            state.waiting = nil
            continuation.resume(returning: false)
        }
    }
}
