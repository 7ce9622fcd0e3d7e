import Foundation
import HostSystem
import Testing

/// A terminal whose other end the test holds.
private struct PseudoTerminal: ~Copyable {
    let master: Int32
    let slave: Int32
    let name: String

    init() throws {
        self.master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        // pts(4): what unlockpt(3) and ptsname(3) do, which Swift's Glibc module lacks.
        var (locked, number): (Int32, Int32) = (0, 0)
        let unlocked = unsafe ioctl(self.master, 0x4004_5431, &locked)
        let named = unsafe ioctl(self.master, 0x8004_5430, &number)
        try #require(unlocked == 0 && named == 0, "this machine has no pseudo-terminals")
        self.name = "/dev/pts/\(number)"
        self.slave = unsafe open(self.name, O_RDWR | O_NOCTTY)
    }

    deinit {
        close(self.master)
        close(self.slave)
    }

    var showsInput: Bool { echoes(self.slave) }
}

private func echoes(_ descriptor: Int32) -> Bool {
    var state = termios()
    guard unsafe tcgetattr(descriptor, &state) == 0 else { return false }
    return state.c_lflag & tcflag_t(ECHO) != 0
}

/// Runs `action` on a thread of its own once the terminal has stopped showing input.
private func onceHidden(_ descriptor: Int32, _ action: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
        while echoes(descriptor) { sched_yield() }
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
    @Test("a line is read while nothing is shown, and shown again afterwards")
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

    @Test("SIGINT still ends the process, and leaves the terminal as it was")
    func interrupted() async throws {
        let terminal = try PseudoTerminal()
        let name = terminal.name
        await #expect(processExitsWith: .signal(SIGINT)) { [name = name as String] in try waitAndRaise(SIGINT, name) }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("SIGTERM and SIGHUP as well")
    func terminated() async throws {
        let terminal = try PseudoTerminal()
        let name = terminal.name
        await #expect(processExitsWith: .signal(SIGTERM)) { [name = name as String] in try waitAndRaise(SIGTERM, name) }
        await #expect(processExitsWith: .signal(SIGHUP)) { [name = name as String] in try waitAndRaise(SIGHUP, name) }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("what is no terminal is refused before anything is asked")
    func noTerminal() throws {
        let file = unsafe open("/dev/null", O_RDONLY)
        defer { close(file) }
        #expect(throws: InputError.notATerminal) { try hiddenLine(from: file) }
    }

    @Test("lines of a pipe come one by one, without their ends")
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

/// In a process of its own: asks for a hidden line and gets a signal instead.
private func waitAndRaise(_ number: Int32, _ terminal: String) throws {
    let slave = unsafe open(terminal, O_RDWR | O_NOCTTY)
    onceHidden(slave) { kill(getpid(), number) }
    _ = try hiddenLine(from: slave)
}
