import Foundation
import HostSystem
import TestSupport
import Testing

/// Runs `action` on a separate thread after the terminal has stopped echoing.
private func onceHidden(_ descriptor: Int32, _ action: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
        while PseudoTerminal.echoes(descriptor) { sched_yield() }
        action()
    }
}

private func type(_ text: String, into descriptor: Int32) {
    let bytes = Array(text.utf8)
    _ = unsafe write(descriptor, bytes, bytes.count)
}

private func hiddenLine(from descriptor: Int32, atMost limit: Int = 6) throws -> [UInt8] {
    try Terminal.withHiddenLine(prompt: "", from: descriptor, atMost: limit) { span in
        (0..<span.byteCount).map { unsafe span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    }
}

@Suite("Hidden input", .serialized)
struct TerminalTests {
    @Test("a line is read without echo, and the echo is restored afterwards")
    func line() throws {
        let terminal = try PseudoTerminal()
        let master = terminal.master
        onceHidden(terminal.slave) { type("024791\nnext", into: master) }
        let line = try hiddenLine(from: terminal.slave)
        let shown = terminal.showsInput
        #expect(line == Array("024791".utf8))
        #expect(shown)
    }

    @Test(
        "the end of the input and a line that is too long restore the terminal, too",
        arguments: ["\u{4}", "0247911\n"]
    )
    func failures(typed: String) throws {
        let terminal = try PseudoTerminal()
        let (master, slave) = (terminal.master, terminal.slave)
        onceHidden(slave) { type(typed, into: master) }
        #expect(throws: typed == "\u{4}" ? InputError.ended : InputError.tooLong) { try hiddenLine(from: slave) }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("SIGINT still ends the process and leaves the terminal restored")
    func interrupted() async throws {
        let terminal = try PseudoTerminal()
        let name = terminal.name
        await #expect(processExitsWith: .signal(SIGINT)) { [name = name as String] in try waitAndRaise(SIGINT, name) }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("SIGTERM and SIGHUP also end the process and leave the terminal restored")
    func terminated() async throws {
        let terminal = try PseudoTerminal()
        let name = terminal.name
        await #expect(processExitsWith: .signal(SIGTERM)) { [name = name as String] in try waitAndRaise(SIGTERM, name) }
        await #expect(processExitsWith: .signal(SIGHUP)) { [name = name as String] in try waitAndRaise(SIGHUP, name) }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("an input that is not a terminal is rejected before the prompt")
    func noTerminal() throws {
        let file = unsafe open("/dev/null", O_RDONLY)
        defer { close(file) }
        #expect(throws: InputError.notATerminal) { try hiddenLine(from: file) }
    }

    @Test("lines of a pipe are read one by one, without their ends")
    func pipe() throws {
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data("024791\n\n135802".utf8))
        try pipe.fileHandleForWriting.close()
        let end = pipe.fileHandleForReading.fileDescriptor
        func next() throws(InputError) -> Int { try LineInput.withLine(from: end, atMost: 6) { $0.byteCount } }
        #expect(try next() == 6)
        #expect(try next() == 0)
        #expect(try next() == 6)
        #expect(throws: InputError.ended) { try next() }
    }
}

/// Asks for a hidden line in a separate process and gets a signal instead.
private func waitAndRaise(_ number: Int32, _ terminal: String) throws {
    let slave = unsafe open(terminal, O_RDWR | O_NOCTTY)
    onceHidden(slave) { kill(getpid(), number) }
    _ = try hiddenLine(from: slave)
}
