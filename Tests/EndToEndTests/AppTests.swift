import Foundation
import LabFiles
import TestSupport
import Testing

@Suite("The app in a terminal", .serialized)
struct AppTests {
    /// The xterm control sequence that restores the screen of the shell.
    private static let leave = "\u{1B}[?1049l"

    private let lab: LabUnderTest
    private let phone: CommandLinePhone

    init() async throws {
        self.lab = try await LabUnderTest()
        self.phone = CommandLinePhone(in: self.lab)
    }

    @Test("the wallet can be set up by keys, and no digit of the PIN is drawn")
    func setup() async throws {
        let server = try await self.lab.start()
        let terminal = try PseudoTerminal()
        let app = try AppInTerminal(self.phone, on: terminal)
        #expect(await app.shows("Introduction (1/3)"))
        app.type("s")
        #expect(await app.shows("Privacy considerations"))
        app.type("\r")
        #expect(await app.shows("Choose PIN"))
        app.type("864")
        #expect(await app.shows("● ● ● ○ ○ ○"))
        app.type("\u{7F}")
        #expect(await app.shows("● ● ○ ○ ○ ○"))
        app.type("4209")
        #expect(await app.shows("Repeat PIN"))
        app.type("864209")
        #expect(await app.shows("secured"))
        // An extra digit after a PIN must not select an action.
        app.type("1n")
        #expect(await app.shows("Write down deletion code"))
        app.type("b")
        #expect(await app.shows("in the background"))
        app.type("b")
        #expect(await app.shows("I have written it down"))
        app.type("i")
        #expect(await app.shows("Obtain PID"))
        app.type("q")
        #expect(await app.shows(Self.leave))
        let end = await app.ended()
        #expect(end.reason == .exit && end.status == 0)
        let shown = terminal.showsInput
        #expect(shown)
        for word in ["864209", "● 8", "864"] { #expect(!app.text.contains(word)) }
        #expect(try await self.phone.run("unlock", pins: ["864209"]).exitCode == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("a block counts down on the screen and returns to the PIN without a key")
    func countdown() async throws {
        var settings = LabUnderTest.sixteenAttempts
        settings["REMOTE_PIN_PIN_ROUNDS"] = "2"
        settings["REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND"] = "1"
        settings["REMOTE_PIN_PIN_BLOCKS"] = "[5s]"
        let server = try await self.lab.start(settings)
        try await self.phone.setUp(pin: "024791")
        let terminal = try PseudoTerminal(columns: 40, rows: 12)
        let app = try AppInTerminal(self.phone, on: terminal)
        #expect(await app.shows("Open app with PIN"))
        app.type("111222")
        #expect(await app.shows("Temporarily Blocked"))
        #expect(await app.shows("Open app with PIN"))
        // A busy machine may skip some seconds.
        let seconds = app.text.matches(of: /00:0(\d)/).map(\.1)
        #expect(Set(seconds).count > 1 && seconds == seconds.sorted(by: >), "\(seconds)")
        app.send(SIGTERM)
        _ = await app.ended()
        #expect(await server.terminate() == 0)
    }

    @Test("the app restores the terminal when it is stopped or killed by a signal, and redraws when it is continued")
    func signals() async throws {
        let server = try await self.lab.start()
        let terminal = try PseudoTerminal()
        let app = try AppInTerminal(self.phone, on: terminal)
        #expect(await app.shows("Introduction (1/3)"))
        let hidden = !terminal.showsInput
        #expect(hidden)
        app.send(SIGTSTP)
        #expect(await app.shows(Self.leave))
        try await poll { app.isStopped }
        let shown = terminal.showsInput
        #expect(shown)
        app.send(SIGCONT)
        #expect(await app.shows("Introduction (1/3)"))
        terminal.resize(columns: 44, rows: 12)
        app.send(SIGWINCH)
        #expect(await app.shows("\u{1B}[12;1H"))
        app.send(SIGTERM)
        #expect(await app.shows(Self.leave))
        let end = await app.ended()
        #expect(end.reason == .uncaughtSignal && end.status == SIGTERM)
        let restored = terminal.showsInput
        #expect(restored)
        #expect(await server.terminate() == 0)
    }

    @Test("a terminal without cursor control gets lines without control sequences")
    func dumb() async throws {
        let server = try await self.lab.start()
        let terminal = try PseudoTerminal()
        let app = try AppInTerminal(self.phone, on: terminal, kind: "dumb")
        #expect(await app.shows("Introduction (1/3)"))
        app.type("s")
        #expect(await app.shows("Privacy considerations"))
        app.type("q")
        #expect(await app.ended().status == 0)
        #expect(!app.text.contains("\u{1B}"))
        #expect(await server.terminate() == 0)
    }

    @Test("without a terminal the command is rejected and points to `wallet drive`")
    func noTerminal() async throws {
        let run = try await ServerProcess.run(
            "wallet",
            ["app", "--lab", self.lab.lab.path, "--home", self.phone.home]
        )
        #expect(run.exitCode == 64)
        #expect(run.output.contains("wallet drive"))
    }
}
