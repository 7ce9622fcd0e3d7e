@testable import SimulatedPhone
import HostSystem
import WalletFlows
import Testing

@Suite("Keys")
struct KeyMapTests {
    @Test("on a PIN screen no action has a digit or a key of the phone")
    func letters() {
        let screen = Screens.screen(
            "Confirm with PIN",
            pin: true,
            actions: [(.back, "Back"), (.logOut, "Log out"), (.forgotPIN, "Forgot PIN"), (.help, "Quit help")]
        )
        let keys = KeyMap(screen)
        #expect(keys.entries.map(\.key) == ["a", "o", "f", "u"])
        #expect(keys.target(of: "o") == .action(.logOut))
        #expect(keys.target(of: "b") == nil && keys.target(of: "q") == nil && keys.target(of: "1") == nil)
        #expect(keys.wayBack == .action(.back))
    }

    @Test("no digit selects an action, so an extra digit after a PIN deletes no wallet")
    func digits() {
        let keys = KeyMap(Screens.blocked)
        #expect(keys.entries.count == 4 && keys.entries.allSatisfy { ("a"..."z").contains($0.key) })
        for digit in "0123456789" { #expect(keys.target(of: digit) == nil) }
        #expect(!keys.takesPIN)
    }

    @Test("the words around the app have a Dutch text, and keys and selected actions are the same in both languages")
    func dutch() {
        let dutch = FrameWords(language: .dutch)
        let keys = KeyMap(Screens.prompt, dutch)
        #expect(keys.entries.map(\.key) == KeyMap(Screens.prompt).entries.map(\.key))
        #expect(keys.entries.map(\.short) == ["Herkend", "Niet herkend", "Toegangscode", "Verkeerde code", "Annuleer"])
        for (_, title) in KeyMap.phoneKeys { #expect(FrameWords.dutch[title] != nil, "\(title)") }
    }

    @Test("the initial selection deletes nothing, so an extra Enter deletes no wallet")
    func preselected() {
        #expect(KeyMap(Screens.blocked).preselected == 1)
        #expect(KeyMap(Screens.wrongPIN).preselected == 0)
        #expect(KeyMap(Screens.prompt).preselected == 0)
        #expect(KeyMap(Screens.openWithPIN).preselected == nil)
        let reset = Screens.screen("Biometric unlock failed", actions: [(.resetWallet, "Reset wallet")])
        #expect(KeyMap(reset).preselected == nil)
        let sure = Screens.screen("Wipe app data", actions: [(.yesDelete, "Yes Delete"), (.cancel, "Cancel")])
        #expect(KeyMap(sure).preselected == 1)
        var picture = Picture(.none)
        picture.show(sure)
        #expect(picture.selected == 1)
    }

    @Test("all actions have different keys, independent of their titles", arguments: [true, false])
    func distinct(takesPIN: Bool) {
        let actions = Array(ActionID.allCases.prefix(9)).map { ($0, "Back") }
        let keys = KeyMap(Screens.screen("Many", pin: takesPIN, actions: actions)).entries.map(\.key)
        #expect(Set(keys).count == 9)
    }

    @Test("a prompt of the operating system has keys for all presentations")
    func prompt() {
        let keys = KeyMap(Screens.prompt)
        #expect(keys.target(of: "m") == .present(.match))
        #expect(keys.target(of: "w") == .present(.wrongPasscode))
        #expect(keys.wayBack == .present(.cancel))
    }
}

@Suite("Painting")
struct PainterTests {
    private let size = TerminalSize(columns: 60, rows: 20)

    @Test("only changed rows are written, and after a redraw all rows")
    func rows() {
        var painter = Painter(Palette(hasUnicode: true, hasColor: false, hasControl: true))
        var picture = Picture(Screens.openWithPIN)
        let whole = painter.paint(picture, self.size)
        #expect(whole.contains("\u{1B}[1;1H") && whole.contains("\u{1B}[20;1H"))
        #expect(painter.paint(picture, self.size).isEmpty)
        picture.typed = 1
        let one = painter.paint(picture, self.size)
        #expect(one.contains("●") && one.split(separator: "H").count == 2)
        painter.forget()
        #expect(painter.paint(picture, self.size).contains("\u{1B}[2J"))
    }

    @Test("a terminal without cursor control gets no control sequence, one mark per digit, and no line per second")
    func printing() {
        var painter = Painter(Screens.ascii)
        #expect(painter.paint(Picture(.none), self.size).isEmpty, "before the launch there is nothing to print")
        var picture = Picture(Screens.openWithPIN)
        let first = painter.paint(picture, self.size)
        #expect(first.contains("Open app with PIN\n") && first.contains("\nf: Forgot PIN\n"))
        picture.typed = 1
        #expect(painter.paint(picture, self.size) == "*")
        picture.typed = 3
        #expect(painter.paint(picture, self.size) == "**")
        picture.typed = 0
        picture.screen = Screens.blocked
        #expect(painter.paint(picture, self.size).contains("43 more seconds"))
        picture.screen.values["remainingMs"] = .number(41_000)
        picture.screen.message = "app is blocked for 41 more seconds."
        #expect(painter.paint(picture, self.size).isEmpty)
        #expect(!first.contains("\u{1B}"))
    }

    @Test("lines for a screen reader have no symbols, state the keys, and repeat neither common keys nor typed text")
    func linear() {
        var painter = Painter(Screens.plain)
        var picture = Picture(Screens.openWithPIN)
        #expect(
            painter.paint(picture, self.size) == """

                Open app with PIN
                Open with your PIN
                Type 6 digits.
                i: Info
                f: Forgot PIN
                [b background, l link, q quit]

                """
        )
        picture.typed = 2
        #expect(painter.paint(picture, self.size) == "**")
        picture.show(Screens.wrongPIN)
        (picture.typed, picture.selected) = (0, 0)
        #expect(
            painter.paint(picture, self.size)
                == "\n\nWrong PIN, retry\nwrong PIN, try again.\nc: Close (Enter, Esc)\nf: Forgot PIN\n"
        )
        picture.link = Picture.LinkEntry()
        #expect(painter.paint(picture, self.size) == "\nLink from an app (Enter open, Tab from QR code, Esc leave):\n")
        for letter in "ab" {
            picture.link?.text.append(letter)
            #expect(painter.paint(picture, self.size) == String(letter))
        }
        picture.link?.text.removeLast()
        #expect(painter.paint(picture, self.size) == "\na")
        picture.link = nil
        #expect(!painter.paint(picture, self.size).contains("["), "the common keys are printed once")
        picture.place = .background
        #expect(painter.paint(picture, self.size) == "\nThe app is in the background.\n[b open, l link, q quit]\n")
    }

    @Test("a call's result is printed even if it is the same screen, a long wait once, and no old screen meanwhile")
    func calls() {
        var painter = Painter(Screens.plain)
        var picture = Picture(Screens.wrongPIN)
        (picture.selected, picture.note) = (0, "The store was opened.")
        let screen = "\nWrong PIN, retry\nwrong PIN, try again.\nc: Close (Enter, Esc)\nf: Forgot PIN\n"
        #expect(painter.paint(picture, self.size).contains("(The store was opened.)\n"))
        (picture.isBusy, picture.note) = (true, "")
        #expect(painter.paint(picture, self.size).isEmpty)
        picture.isSlow = true
        #expect(painter.paint(picture, self.size) == "(working)\n")
        #expect(painter.paint(picture, self.size).isEmpty)
        (picture.isBusy, picture.isSlow) = (false, false)
        #expect(painter.paint(picture, self.size) == screen)
        #expect(painter.paint(picture, self.size).isEmpty)
        picture.states = ["unlocked"]
        #expect(painter.paint(picture, self.size).isEmpty)
        picture.screen.values = ["notice": .text("2 wrong PINs since Sunday 07:41.")]
        #expect(painter.paint(picture, self.size).hasPrefix("\nWrong PIN, retry\n2 wrong PINs since Sunday 07:41.\n"))
    }

    @Test("of a screen whose countdown or selected action changes, only that line is printed; seconds are not counted")
    func parts() {
        var painter = Painter(Screens.plain)
        var picture = Picture(Screens.blocked)
        picture.selected = 2
        func show(_ milliseconds: Int64, _ time: String) -> String {
            picture.screen.values["remainingMs"] = .number(milliseconds)
            picture.screen.message = "app is blocked for \(time)."
            return painter.paint(picture, self.size)
        }
        #expect(show(300_000, "5 more minutes").contains("b: Back") == false, "b is the phone's key")
        #expect(show(241_000, "5 more minutes").isEmpty)
        #expect(show(240_000, "4 more minutes") == "\napp is blocked for 4 more minutes.\n")
        #expect(show(59_000, "59 more seconds") == "\napp is blocked for 59 more seconds.\n")
        #expect(show(58_000, "58 more seconds").isEmpty)
        picture.selected = 3
        #expect(painter.paint(picture, self.size) == "\nh: Help (Enter)\n")
    }
}
