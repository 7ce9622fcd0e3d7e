package import WalletFlows

/// The visible state of a phone at one moment; the input of the renderer.
package struct Picture: Hashable, Sendable {
    /// The place of the app on the phone.
    package enum Place: Hashable, Sendable {
        case inFront
        case background
        /// No process of the app is running.
        case ended
    }

    package var screen: Screen
    /// The screen behind a prompt.
    package var behind: Screen?
    package var place = Place.inFront
    /// The system of the phone, such as `Android 16`.
    package var phone = ""
    /// The words around the app.
    var words = FrameWords()
    /// The states of the phone, such as `no network`.
    package var states: [String] = []
    /// True while a call to the phone is running.
    package var isBusy = false
    /// The number of typed digits of a PIN.
    package var typed = 0
    /// The index of the selected action.
    package var selected: Int?
    /// The link being typed, if any.
    package var link: LinkEntry?
    /// The keys at the bottom, for a program other than the terminal app.
    package var help: [String]?
    /// The latest message that is not part of a screen, for the line at the bottom.
    package var note = ""

    package init(_ screen: Screen) {
        self.screen = screen
    }

    /// Shows another screen, or the current one with new values.
    package mutating func show(_ screen: Screen) {
        if screen.step != self.screen.step {
            self.typed = 0
            self.selected = KeyMap(screen).preselected
        }
        // The last screen of an app in the background must not be visible when it returns and may
        // have to lock.
        if screen.kind == .screen { self.behind = self.place == .inFront ? screen : nil }
        self.screen = screen
    }

    /// Hides the screen behind a prompt: the wallet is locked, and the prompt that unlocks it must
    /// not show its contents.
    package mutating func lock() {
        self.behind = nil
    }

    /// Shows the status of the phone.
    package mutating func show(_ status: PhoneStatus) {
        self.phone = status.system
        self.states = status.states
        self.place = status.place
        self.words = status.words
    }

    /// The keys of the current screen.
    var keys: KeyMap { KeyMap(self.screen, self.words) }

    /// A link being typed, with its stated source.
    package struct LinkEntry: Hashable, Sendable {
        package var text = ""
        package var source = IncomingLink.Source.app

        package init() {}
    }
}
