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

    static let dutch = [
        "locked": "vergrendeld", "unlocked": "ontgrendeld", "rooted": "geroot", "no network": "geen netwerk",
        "working": "bezig", "asks": "vraagt", "the phone": "de telefoon",
        "Match: the owner's face or finger": "Herkend: gezicht of vinger van de eigenaar", "Match": "Herkend",
        "Mismatch: somebody else's": "Niet herkend: van iemand anders", "Mismatch": "Niet herkend",
        "Passcode of the phone": "Toegangscode van de telefoon", "Passcode": "Toegangscode",
        "Wrong passcode": "Verkeerde code", "Cancel": "Annuleer", "background": "achtergrond", "link": "link",
        "quit": "stop", "back": "terug", "open": "open", "Enter select": "Enter kies",
        "The app is in the background.": "De app staat op de achtergrond.",
        "The app is not running.": "De app is niet gestart.", "bring it back": "haal hem terug",
        "start it": "start hem", "from an app": "uit een app", "from QR code": "uit QR-code", "leave": "sluit",
    ]
}
