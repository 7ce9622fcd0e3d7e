import Glibc
import HostSystem
import TestSupport
import Testing

/// The next event of a terminal.
private func next(_ screen: FullScreen) async -> TerminalEvent {
    var wakeups = screen.wakeups.makeAsyncIterator()
    while true {
        if let event = screen.next() { return event }
        guard await wakeups.next() != nil else { return screen.next() ?? .ended }
    }
}

@Suite("Full-screen terminals", .serialized)
struct FullScreenTests {
    @Test("keys arrive one by one for every kind of sequence, and are not echoed")
    func keys() async throws {
        let terminal = try PseudoTerminal()
        let screen = try FullScreen(hasOwnScreen: false, input: terminal.slave, output: terminal.slave)
        let hidden = !terminal.showsInput
        #expect(hidden)
        terminal.type("7\u{1B}[A\u{1B}OB\r\t\u{7F}\u{1B}[1;5Cq\u{1B}[3~é٧")
        var keys: [Key] = []
        while keys.count < 11, case .key(let key) = await next(screen) { keys.append(key) }
        #expect(
            keys == [
                .character(0x37), .up, .down, .enter, .tab, .backspace, .other, .character(0x71), .other, .other,
                .character(0x37),
            ]
        )
        screen.close()
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("a character of several bytes is one key, even if its bytes arrive one by one")
    func severalBytes() async throws {
        let terminal = try PseudoTerminal()
        let screen = try FullScreen(hasOwnScreen: false, input: terminal.slave, output: terminal.slave)
        for text in ["é", "7", "٧", "７", "𝟕", "𐄁", "q"] { terminal.type(text) }
        var keys: [Key] = []
        while keys.count < 7, case .key(let key) = await next(screen) { keys.append(key) }
        let seven = Key.character(0x37)
        #expect(keys == [.other, seven, seven, seven, seven, .other, .character(0x71)])
        screen.close()
    }

    @Test("a single escape is a key, even if other keys follow later")
    func escape() async throws {
        let terminal = try PseudoTerminal()
        let screen = try FullScreen(hasOwnScreen: false, input: terminal.slave, output: terminal.slave)
        terminal.type("\u{1B}")
        #expect(await next(screen) == .key(.escape))
        terminal.type("[")
        #expect(await next(screen) == .key(.character(0x5B)))
        screen.close()
    }

    @Test("the end of the input is reported, and the end of the value restores the terminal")
    func end() async throws {
        let terminal = try PseudoTerminal()
        do {
            let screen = try FullScreen(hasOwnScreen: true, input: terminal.slave, output: terminal.slave)
            #expect(screen.size == TerminalSize(columns: 80, rows: 24))
            let hidden = !terminal.showsInput
            #expect(hidden)
        }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("terminating signals still end the process, with the terminal restored")
    func signals() async throws {
        let terminal = try PseudoTerminal()
        let name = terminal.name
        await #expect(processExitsWith: .signal(SIGINT)) { [name = name as String] in
            try await takeAnd(name) { kill(getpid(), SIGINT) }
        }
        let afterInterrupt = terminal.showsInput
        #expect(afterInterrupt)
        await #expect(processExitsWith: .signal(SIGTERM)) { [name = name as String] in
            try await takeAnd(name) { kill(getpid(), SIGTERM) }
        }
        await #expect(processExitsWith: .signal(SIGHUP)) { [name = name as String] in
            try await takeAnd(name) { kill(getpid(), SIGHUP) }
        }
        await #expect(processExitsWith: .signal(SIGQUIT)) { [name = name as String] in
            try await takeAnd(name) { kill(getpid(), SIGQUIT) }
        }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("a crash restores the terminal")
    func crashes() async throws {
        let terminal = try PseudoTerminal()
        let name = terminal.name
        await #expect(processExitsWith: .failure) { [name = name as String] in
            try await takeAnd(name) { preconditionFailure("on purpose") }
        }
        let afterTrap = terminal.showsInput
        #expect(afterTrap)
        await #expect(processExitsWith: .signal(SIGABRT)) { [name = name as String] in
            try await takeAnd(name) { abort() }
        }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("if a terminating signal is ignored, the terminal is restored and the end is reported")
    func ignoredSignal() async throws {
        let terminal = try PseudoTerminal()
        let name = terminal.name
        await #expect(processExitsWith: .exitCode(7)) { [name = name as String] in
            signal(SIGINT, SIG_IGN)
            let slave = unsafe open(name, O_RDWR | O_NOCTTY)
            let screen = try FullScreen(hasOwnScreen: true, input: slave, output: slave)
            kill(getpid(), SIGINT)
            guard await next(screen) == .ended else { exit(1) }
            exit(7)
        }
        let shown = terminal.showsInput
        #expect(shown)
    }

    @Test("an input that is not a terminal is rejected")
    func noTerminal() throws {
        let file = unsafe open("/dev/null", O_RDWR)
        defer { close(file) }
        #expect(throws: InputError.notATerminal) {
            _ = try FullScreen(hasOwnScreen: true, input: file, output: file)
        }
    }
}

/// Takes the terminal in a separate process, then runs `happening`.
private func takeAnd(_ name: String, _ happening: () -> Void) async throws {
    let slave = unsafe open(name, O_RDWR | O_NOCTTY)
    let screen = try FullScreen(hasOwnScreen: true, input: slave, output: slave)
    happening()
    while await next(screen) != .ended {}
}
