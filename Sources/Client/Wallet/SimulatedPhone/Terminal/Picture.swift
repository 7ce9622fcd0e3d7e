package import WalletFlows
internal import Vocabulary

/// The visible state of a phone at a given moment, used as input by the renderer.
package struct Picture: Hashable, Sendable {
    /// The state of the app: in the foreground, in the background or not running.
    package enum Place: Hashable, Sendable {
        case inFront, background
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
    /// Whether that call has taken longer than a second.
    var isSlow = false
    /// The number of PIN digits typed so far.
    package var typed = 0
    /// The index of the selected action.
    package var selected: Int?
    /// The link being typed, if any.
    var link: LinkEntry?
    /// The key help shown at the bottom, if it is not the terminal app's.
    package var help: [String]?
    /// The latest message that is not part of a screen, shown at the bottom.
    package var note = ""

    package init(_ screen: Screen) { self.screen = screen }

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
    package mutating func lock() { self.behind = nil }

    package mutating func show(_ status: PhoneStatus) {
        self.phone = status.system
        self.states = status.states
        self.place = status.place
        self.words = status.words
    }

    var keys: KeyMap { KeyMap(self.screen, self.words) }

    /// A link being typed, and where it supposedly comes from.
    struct LinkEntry: Hashable, Sendable {
        var text = ""
        var source = IncomingLink.Source.app
    }
}

/// The status line of a phone, and whether the app is in the foreground.
package struct PhoneStatus: Hashable, Sendable {
    /// The phone's operating system, such as `Android 16`.
    let system: String
    /// Short status messages, such as `no network`.
    let states: [String]
    let place: Picture.Place
    let words: FrameWords

    /// - Parameter language: The language of the words, or nil for that of the app's next process.
    package init(_ phone: Phone, isLocked: Bool, in language: Wording.Language? = nil) async {
        let device: any Device = phone.device
        let name = device.platform == .iOS ? "iOS" : "Android"
        self.system = "\(name) \(device.osVersion)"
        var states: [String] = []
        if device.isRooted { states.append("rooted") }
        if !device.hasNetwork { states.append("no network") }
        states.append(isLocked ? "locked" : "unlocked")
        let current = await phone.language
        let words = FrameWords(language: language ?? current)
        self.words = words
        self.states = states.map { words($0) }
        let isRunning = await phone.isRunning
        let isInFront = await phone.isInFront
        self.place = isInFront ? .inFront : isRunning ? .background : .ended
    }
}

/// Translates the words displayed around the app: in the status line, the system prompts and the key help.
struct FrameWords: Hashable, Sendable {
    var language = Wording.Language.english

    /// Returns the translation, or the word itself if there is none.
    func callAsFunction(_ english: String) -> String {
        switch self.language {
        case .english: english
        case .dutch: Self.dutch[english] ?? english
        }
    }

    /// Returns the line that reports an event, or nil if the app itself shows it.
    ///
    /// The lines are short, so that a terminal of 40 columns shows them in full, except for a URL.
    func note(_ event: AppEvent) -> String? {
        switch event {
        case .suspended, .closed: nil
        case .storeOpened: self("The store was opened.")
        case .pidRequested: self("The issuer was asked for an identity.")
        case .scanRequested: self("The app's own scanner was opened.")
        case .linkAccepted(let kind, let url): "\(self("Link accepted")) (\(kind.rawValue)): \(url)"
        case .tampering(let finding): "\(self("Tampering")): \(finding.rawValue)"
        case .confirmed(let request): "\(self("Confirmed")): \(request.title)"
        case .declined(let request): "\(self("Declined")): \(request.title)"
        }
    }

    static let dutch = [
        "The store was opened.": "De store is geopend.",
        "The issuer was asked for an identity.": "Er is om je identiteit gevraagd.",
        "The app's own scanner was opened.": "De scanner van de app is geopend.",
        "Link accepted": "Link geaccepteerd", "Tampering": "Manipulatie", "Confirmed": "Bevestigd",
        "Declined": "Niet bevestigd",
        "This terminal is too small:": "Deze terminal is te klein:",
        "40 columns and 12 rows are needed.": "Nodig zijn 40 kolommen en 12 rijen.",
        "version": "versie", "yes": "ja", "no": "nee",
        "locked": "vergrendeld", "unlocked": "ontgrendeld", "rooted": "geroot", "no network": "geen netwerk",
        "working": "bezig", "asks": "vraagt", "the phone": "de telefoon",
        "Match: the owner's face or finger": "Herkend: gezicht of vinger van de eigenaar", "Match": "Herkend",
        "Mismatch: somebody else's": "Niet herkend: van iemand anders", "Mismatch": "Niet herkend",
        "Passcode of the phone": "Toegangscode van de telefoon", "Passcode": "Toegangscode",
        "Wrong passcode": "Verkeerde code", "Cancel": "Annuleer", "background": "achtergrond", "link": "link",
        "quit": "stop", "back": "terug", "open": "open", "Enter select": "Enter kies",
        "The app is in the background.": "De app staat op de achtergrond.",
        "The app is not running.": "De app is niet gestart.", "bring it back": "haal hem terug",
        "start it": "start hem", "Type 6 digits.": "Typ 6 cijfers.", "from an app": "uit een app",
        "from QR code": "uit QR-code", "leave": "sluit",
    ]
}
