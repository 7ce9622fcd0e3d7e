@testable import SimulatedPhone
import HostSystem
import Testing
import TestSupport
import Vocabulary

@testable import WalletFlows

@Suite("Drawing a phone")
struct RendererTests {
    @Test("a PIN screen on the smallest terminal has dots for digits and letters for keys")
    func smallest() {
        var picture = Picture(Screens.openWithPIN)
        picture.phone = "Android 16"
        picture.states = ["no network", "locked"]
        picture.typed = 2
        #expect(
            Screens.smallest.lines(picture) == [
                "╭ Android 16 ───── no network · locked ╮",
                "│          Open app with PIN           │",
                "│                                      │",
                "│          Open with your PIN          │",
                "│                                      │",
                "│             ● ● ○ ○ ○ ○              │",
                "│                                      │",
                "│                                      │",
                "│   i  Info                            │",
                "│   f  Forgot PIN                      │",
                "╰──────────────────────────────────────╯",
                "      b background  l link  q quit",
            ]
        )
    }

    @Test(
        "on the smallest terminal the longest texts are shown in full, and a note takes the row that they leave free",
        arguments: Wording.Language.allCases
    )
    func longTexts(language: Wording.Language) throws {
        let version = try #require(AppVersion("1.0.0"))
        let snapshot = Snapshot(now: Timestamp(milliseconds: 0), uptime: .zero, appVersion: version)
        var scenes: [Scene] = []
        for cause in [FailureCause.hardwareKeyMissing, .walletUnknown, .pinKeyUnknown, .shareOpensNothing] {
            let error = ErrorScreen(.generic(correlationID: "4f2a", cause: cause), at: "PF2.8/1.1")
            if case .show(let dialog) = error.enter(snapshot).next { scenes.append(dialog.scene) }
        }
        #expect(scenes.count == 4)
        var notice = Dialog("UC7.1/1.1", .screen, .dashboard).offering(.menu, "UC7.1/1.1a", .stay).scene
        let since = Timestamp(milliseconds: 0)
        notice.notice = AttemptNotice(wrongPINs: 12, since: since, tampering: [.unexplainedAttempts])
        scenes.append(notice)
        let hint = AttemptHint(finding: .unexplainedAttempts, wrongPINs: 12, lastWrong: since)
        notice.notice = AttemptNotice(wrongPINs: 0, since: nil, tampering: [], hint: hint)
        scenes.append(notice)
        let wording = Wording(language: language)
        var screens = scenes.map { wording.screen($0, at: since + .seconds(60), uptime: .zero) }
        screens += [BiometricFailure.mayTryAgain, .nothingEnrolled, .lockedOut, .keyIsGone].map {
            Screens.noFallback($0, language)
        }
        for screen in screens {
            var picture = Picture(screen)
            picture.words = FrameWords(language: language)
            let lines = Screens.smallest.lines(picture)
            #expect(!lines.dropLast().contains { $0.contains("…") }, "\(lines.joined(separator: "\n"))")
            picture.note = "a note"
            #expect(Screens.smallest.lines(picture)[10].contains("a note"))
        }
    }

    @Test(
        "the line about an event is in the language of the app and fits on the smallest terminal",
        arguments: Tampering.allCases
    )
    func notes(finding: Tampering) throws {
        let (english, dutch) = (FrameWords(), FrameWords(language: .dutch))
        let payment = try ConfirmationRequest(title: "Pay 25.00 EUR")
        for event in [
            AppEvent.storeOpened, .pidRequested, .scanRequested, .tampering(finding), .confirmed(payment),
            .declined(payment),
        ] {
            let (line, translated) = (try #require(english.note(event)), try #require(dutch.note(event)))
            #expect(line != translated && line.count <= 40 && translated.count <= 40, "\(line), \(translated)")
        }
        let link = AppEvent.linkAccepted(kind: .login, url: "https://a.example/login/1")
        #expect(dutch.note(link) == "Link geaccepteerd (login): https://a.example/login/1")
        #expect(english.note(.declined(payment)) == "Declined: Pay 25.00 EUR")
        #expect(dutch.note(.confirmed(payment)) == "Bevestigd: Pay 25.00 EUR")
        #expect(dutch.note(.declined(payment)) == "Niet bevestigd: Pay 25.00 EUR")
    }

    @Test("a character that is not drawn takes no other with it")
    func joiner() {
        for text in [
            "Pay 125\u{200D}0.00 EUR", "Pay 12\u{AD}50\u{200B}.00 EUR", "\u{202E}Pay 1250.\u{2060}00 EUR\u{FEFF}",
        ] {
            #expect(Columns.harmless(text, Screens.ascii) == "Pay 1250.00 EUR")
        }
        #expect(Columns.harmless("a\r\nb\u{1B}\u{2028}c", Screens.ascii) == "a b c")
    }

    @Test("a prompt is drawn over the previous screen, which is dimmed")
    func prompt() {
        var picture = Picture(Screens.wrongPIN)
        picture.behind = Screens.openWithPIN
        picture.selected = 0
        let lines = Renderer(size: TerminalSize(columns: 50, rows: 16), palette: Screens.ascii).lines(picture)
        #expect(
            lines == [
                "+------------------------------------------------+",
                "|                                                |",
                "|               Open app with PIN                |",
                "|   *----------------------------------------*   |",
                "|   |            Wrong PIN, retry            |   |",
                "|   |                                        |   |",
                "|   |         wrong PIN, try again.          |   |",
                "|   |                                        |   |",
                "|   | > c  Close                             |   |",
                "|   |   f  Forgot PIN                        |   |",
                "|   *----------------------------------------*   |",
                "|      Info                                      |",
                "|      Forgot PIN                                |",
                "+------------------------------------------------+",
                "",
                "      Esc back  b background  l link  q quit",
            ]
        )
        let dimmed = Renderer(
            size: TerminalSize(columns: 50, rows: 16),
            palette: Palette(hasUnicode: false, hasColor: false, hasControl: true)
        ).lines(picture)
        #expect(dimmed[2].contains("\u{1B}[2m"), "the screen behind is dim")
        #expect(dimmed[4].contains("\u{1B}[1mWrong PIN, retry"), "the prompt's title is bold")
    }

    @Test("the screen behind the lock is not visible around the unlock prompt")
    func lockedPrompt() {
        var picture = Picture(.none)
        picture.show(Screens.code)
        picture.lock()
        picture.show(Screens.prompt)
        let renderer = Renderer(size: TerminalSize(columns: 50, rows: 20), palette: Screens.ascii)
        #expect(renderer.lines(picture).contains { $0.contains("Unlock NL Wallet") })
        #expect(!renderer.lines(picture).contains { $0.contains("NXPY") || $0.contains("deletion code") })
    }

    @Test("the operating system's prompt looks different from the app's and shows its keys")
    func systemPrompt() {
        var picture = Picture(Screens.prompt)
        picture.phone = "iOS 26.1"
        let text = Renderer(size: TerminalSize(columns: 80, rows: 24), palette: Screens.plain).lines(picture)
            .joined(separator: "\n")
        #expect(text.contains("╔═ iOS 26.1 asks ═") && text.contains("↑↓ Enter select"))
        picture.words = FrameWords(language: .dutch)
        let dutch = Renderer(size: TerminalSize(columns: 80, rows: 24), palette: Screens.plain).lines(picture)
            .joined(separator: "\n")
        #expect(dutch.contains("╔═ iOS 26.1 vraagt ═") && dutch.contains("↑↓ Enter kies"))
        for key in ["m  Match", "x  Mismatch", "p  Passcode", "w  Wrong passcode", "c  Cancel"] {
            #expect(text.contains(key))
        }
    }

    @Test("on the smallest terminal a system prompt shows its message, and its keys in one column")
    func smallestSystemPrompt() {
        var picture = Picture(Screens.prompt)
        picture.selected = 0
        #expect(
            Screens.smallest.lines(picture)[2...7] == [
                "│ ║         Unlock NL Wallet         ║ │",
                "│ ║    Confirm with Fingerprint.     ║ │",
                "│ ║                                  ║ │",
                "│ ║ ›m Match  x Mismatch             ║ │",
                "│ ║  p Passcode  w Wrong passcode    ║ │",
                "│ ║  c Cancel                        ║ │",
            ]
        )
    }

    @Test(
        "while a link is typed, its end and the keys to leave are visible",
        arguments: [IncomingLink.Source.app, .externalScanner]
    )
    func link(from source: IncomingLink.Source) {
        var picture = Picture(Screens.openWithPIN)
        var link = Picture.LinkEntry()
        link.text = "https://wallet.example.org/link/issuance/1"
        link.source = source
        picture.link = link
        let lines = Screens.smallest.lines(picture)
        #expect(lines[10].hasPrefix("Link: …") && lines[10].hasSuffix("/issuance/1_"))
        #expect(lines[11].hasSuffix("Esc leave"))
        #expect(Screens.smallest.text(picture).joined().contains("Esc leave"), "nor does q quit on paper")
    }

    @Test("a block shows a clock, and a deletion code is spaced if there is room")
    func values() {
        let wide = Renderer(size: TerminalSize(columns: 80, rows: 24), palette: Screens.plain)
        #expect(wide.lines(Picture(Screens.blocked)).joined().contains("00:43"))
        // A server may send any number.
        var longest = Picture(Screens.blocked)
        longest.screen.values["remainingMs"] = .number(.max)
        #expect(wide.lines(longest).joined().contains("2562047788015:12:56"))
        #expect(wide.lines(Picture(Screens.code)).joined().contains("N X P Y - S 6 G Y - Q W 8 1 - T 0 B H - S 4"))
        let narrow = Screens.smallest.lines(Picture(Screens.code)).joined(separator: "\n")
        #expect(narrow.contains("N X P Y - S 6 G Y - Q W 8 1 -") && narrow.contains("T 0 B H - S 4"))
    }

    @Test("every terminal size shows complete titles and actions, and no line is too wide")
    func sizes() {
        let screens = [Screens.openWithPIN, Screens.blocked, Screens.code, Screens.wrongPIN, Screens.prompt]
        for columns in [40, 41, 57, 60, 80, 133] {
            for rows in [12, 13, 15, 17, 24, 60] {
                let renderer = Renderer(size: TerminalSize(columns: columns, rows: rows), palette: Screens.plain)
                for screen in screens {
                    let lines = renderer.lines(Picture(screen))
                    #expect(lines.count == rows)
                    #expect(lines.allSatisfy { Columns.width($0) <= columns })
                    let text = lines.joined(separator: "\n")
                    #expect(text.contains(screen.title), "\(screen.title) at \(columns)x\(rows)")
                    for entry in KeyMap(screen).entries {
                        let words = [entry.title, entry.short].map { $0.split(separator: " ")[0] }
                        #expect(text.contains("\(entry.key)  \(words[0])") || text.contains("\(entry.key) \(words[1])"))
                    }
                }
            }
        }
    }

    @Test(
        "the longer Dutch text after a failed biometric is complete on the smallest terminal"
    )
    func dutch() {
        for reason in [BiometricFailure.mayTryAgain, .nothingEnrolled, .lockedOut, .keyIsGone] {
            let screen = Screens.noFallback(reason, .dutch)
            let text = Self.words(of: Screens.smallest.lines(Picture(screen))).joined(separator: " ")
            #expect(text.contains(screen.title) && text.contains(screen.message), "\(text)")
        }
    }

    @Test("a message that does not fit ends with a whole word")
    func cutAtWords() {
        for columns in 40...60 {
            let message = (1...60).map { String(repeating: "x", count: $0 % 9 + 1) + "." }.joined(separator: " ")
            let screen = Screens.screen("Title", message, actions: [(.close, "Close")])
            let lines = Renderer(size: TerminalSize(columns: columns, rows: 12), palette: Screens.plain)
                .lines(Picture(screen))
            let words = Self.words(of: lines)
            let end = words.firstIndex(of: "…")
            #expect(end.map { words[$0 - 1].hasSuffix(".") } == true, "\(columns): \(words)")
        }
    }

    /// The words of a screen in order, without the frame.
    private static func words(of lines: [String]) -> [String] {
        lines.joined(separator: " ").split { $0 == " " || $0 == "│" }.map(String.init)
    }

    @Test("a smaller terminal shows only a message about its size")
    func tooSmall() {
        let lines = Renderer(size: TerminalSize(columns: 39, rows: 12), palette: Screens.plain)
            .lines(Picture(Screens.code))
        #expect(lines.joined().contains("40 columns and 12 rows"))
        #expect(!lines.joined().contains("NXPY"))
        let tiny = Renderer(size: TerminalSize(columns: 20, rows: 6), palette: Screens.plain).lines(
            Picture(Screens.code)
        )
        #expect(tiny[..<4] == ["This terminal is too", "small:", "40 columns and 12", "rows are needed."])
    }

    @Test("in the background nothing of the app is visible")
    func background() {
        var picture = Picture(Screens.code)
        picture.place = .background
        let text = Screens.smallest.lines(picture).joined()
        #expect(text.contains("in the background"))
        #expect(!text.contains("N X P Y") && !text.contains("NXPY"))
    }

    @Test("foreign text cannot move the cursor, change colors or leave its area")
    func hostileText() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let bad = ["\u{1B}[2J", "\u{9B}31m", "\r\n", "\u{202E}", "\u{7}", "\t", "\u{1B}]0;x\u{7}", "é", "漢", "👩‍👧"]
        for _ in 0..<200 {
            let text = (0..<12).map { _ in bad.randomElement(using: &generator) ?? "" }.joined() + "end"
            let screen = Screens.screen(
                text,
                text,
                values: ["banner": .text(text), "server": .text(text), "deletionCode": .text("AAAA")],
                actions: [(.next, text)]
            )
            var picture = Picture(screen)
            picture.note = text
            picture.phone = text
            for palette in [Screens.plain, Screens.ascii] {
                let lines = Renderer(size: TerminalSize(columns: 60, rows: 20), palette: palette).lines(picture)
                for line in lines {
                    #expect(
                        line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
                        "seed \(seed)"
                    )
                    #expect(Columns.width(line) <= 60, "seed \(seed)")
                    let isASCII = line.allSatisfy { $0.isASCII }
                    #expect(palette.hasUnicode || isASCII, "seed \(seed)")
                }
            }
        }
    }

    @Test("all styles come from the palette")
    func palettes() {
        let screen = Screens.screen(
            "Title",
            "Text",
            values: ["banner": .text("Update now.")],
            actions: [(.next, "Next")]
        )
        func text(_ palette: Palette) -> String {
            Renderer(size: Renderer.smallest, palette: palette).lines(Picture(screen)).joined(separator: "\n")
        }
        #expect(text(Palette(hasUnicode: true, hasColor: true, hasControl: true)).contains("\u{1B}[33mUpdate now."))
        let colorless = text(Palette(hasUnicode: true, hasColor: false, hasControl: true))
        #expect(!colorless.contains("\u{1B}[33m") && colorless.contains("\u{1B}[1m"))
        #expect(!text(Screens.plain).contains("\u{1B}"))
    }

    @Test(
        "the capabilities of the terminal are read from locale, TERM and NO_COLOR",
        arguments: [
            (
                ["LANG": "nl_NL.UTF-8", "TERM": "xterm-256color"],
                Palette(hasUnicode: true, hasColor: true, hasControl: true)
            ),
            (["LANG": "C", "TERM": "xterm"], Palette(hasUnicode: false, hasColor: true, hasControl: true)),
            (
                ["LC_ALL": "C", "LANG": "en_US.UTF-8", "TERM": "xterm", "NO_COLOR": "1"],
                Palette(hasUnicode: false, hasColor: false, hasControl: true)
            ),
            (["LANG": "en_US.utf8", "TERM": "dumb"], Palette(hasUnicode: true, hasColor: false, hasControl: false)),
            ([:], Palette(hasUnicode: false, hasColor: false, hasControl: false)),
        ] as [([String: String], Palette)]
    )
    func environment(variables: [String: String], palette: Palette) {
        #expect(Palette(environment: { variables[$0] }) == palette)
    }
}
