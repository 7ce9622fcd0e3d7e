package import WalletFlows

/// The visible state of a phone at a given moment, used as input by the renderer.
package struct Picture: Hashable, Sendable {
    /// The state of the app: in the foreground, in the background or not running.
    package enum Place: Hashable, Sendable {
        case inFront
        case background
        /// The app's process is not running.
        case ended
    }

    package var screen: Screen
    /// The screen behind a prompt.
    package var behind: Screen?
    package var place = Place.inFront
    /// The phone's operating system, such as `Android 16`.
    package var phone = ""
    /// Translates the words around the app.
    var words = FrameWords()
    /// Short status messages, such as `no network`.
    package var states: [String] = []
    /// Whether a call to the phone is in progress.
    package var isBusy = false
    /// The number of PIN digits typed so far.
    package var typed = 0
    /// The index of the selected action.
    package var selected: Int?
    /// The link being typed, if any.
    package var link: LinkEntry?
    /// The key help shown at the bottom, if it is not the terminal app's.
    package var help: [String]?
    /// The latest message that is not part of a screen, shown at the bottom.
    package var note = ""

    package init(_ screen: Screen) {
        self.screen = screen
    }

    /// Shows a different screen, or the current one with new values.
    package mutating func show(_ screen: Screen) {
        if screen.step != self.screen.step {
            self.typed = 0
            self.selected = KeyMap(screen).preselected
        }
        // When a backgrounded app returns, it may have to lock. Its last screen must not be visible then.
        if screen.kind == .screen { self.behind = self.place == .inFront ? screen : nil }
        self.screen = screen
    }

    /// Hides the screen behind a prompt.
    ///
    /// The wallet is locked, so its contents must not be visible behind the unlock prompt.
    package mutating func lock() {
        self.behind = nil
    }

    /// Updates the phone's status line.
    package mutating func show(_ status: PhoneStatus) {
        self.phone = status.system
        self.states = status.states
        self.place = status.place
        self.words = status.words
    }

    /// The keys for the current screen.
    var keys: KeyMap { KeyMap(self.screen, self.words) }

    /// A link being typed, and where it supposedly comes from.
    package struct LinkEntry: Hashable, Sendable {
        package var text = ""
        package var source = IncomingLink.Source.app

        package init() {}
    }
}
