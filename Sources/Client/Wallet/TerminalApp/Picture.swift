package import WalletFlows

/// Everything that is seen of a phone at one moment: what the renderer draws, and nothing else does.
package struct Picture: Hashable, Sendable {
    /// Where the app is.
    package enum Place: Hashable, Sendable {
        case inFront
        case background
        /// No process of it runs.
        case ended
    }

    package var screen: Screen
    /// The screen that a prompt stands over.
    package var behind: Screen?
    package var place = Place.inFront
    /// What the phone says of itself, as in `Android 16`.
    package var phone = ""
    /// What is the case with it, as in `no network`.
    package var states: [String] = []
    /// Whether something is under way.
    package var isBusy = false
    /// How many digits of a PIN were typed.
    package var typed = 0
    /// Whether a PIN was the last thing entered.
    package var followsPIN = false
    /// Which of the actions is pointed at.
    package var selected: Int?
    /// A link that is being typed.
    package var link: LinkEntry?
    /// The last thing that was no screen, for the line at the bottom.
    package var note = ""

    package init(_ screen: Screen) {
        self.screen = screen
    }

    /// Another screen, or the present one with new values.
    mutating func show(_ screen: Screen) {
        if screen.step != self.screen.step {
            self.typed = 0
            self.selected = KeyMap(screen).preselected
        }
        // What is left of an app out of sight is nobody's to see when it comes back, before the lock has its say.
        if screen.kind == .screen { self.behind = self.place == .inFront ? screen : nil }
        self.screen = screen
    }

    /// The wallet is locked: nothing from behind the lock may be seen around the prompt that opens it.
    mutating func lock() {
        self.behind = nil
    }

    /// The keys of the screen that is there.
    var keys: KeyMap { KeyMap(self.screen, followsPIN: self.followsPIN) }

    /// A link that is being typed, and who is said to have handed it over.
    package struct LinkEntry: Hashable, Sendable {
        package var text = ""
        package var source = IncomingLink.Source.app

        package init() {}
    }
}
