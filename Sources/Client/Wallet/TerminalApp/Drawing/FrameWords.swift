internal import WalletFlows

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
