/// All texts of the page in one language.
///
/// `{product}` is replaced with the name of the app. The texts use plain words and short sentences, and they never
/// reveal why a code is wrong.
struct PortalStrings {
    var languages: String
    var title: String
    var errorPrefix: String

    // Texts on every page.
    var startOver: String
    var help: String
    var footer: String

    // Texts of the form.
    var introduction: String
    var nothingYet: String
    var label: String
    var hint: String
    var next: String
    var noCode: String
    var noCodeInApp: String
    var noCodeHelp: String

    // Problems with the form.
    var missing: String
    var wrong: String
    var stale: String

    // Texts of the confirmation.
    var question: String
    var questionCode: String
    var consequences: [String]
    var yes: String
    var no: String

    // Texts for the outcomes.
    var done: String
    var doneAt: String
    var doneNext: [String]
    var limited: String
    var limitedWhy: String
    var limitedUntil: String
    var busy: String
    var busyWhy: String
    var away: String
    var awayWhy: String
    var unknown: String
    var unknownWhy: String
    var again: String
    var refused: String
    var refusedWhy: String
    var tooLongWhy: String
    var notFound: String
    var notFoundWhy: String

    /// Returns the text for a whole number of minutes.
    var minutes: @Sendable (Int) -> String
}

extension PortalStrings {
    static let english = PortalStrings(
        languages: "Language",
        title: "Delete your {product}",
        errorPrefix: "Error",
        startOver: "To the beginning",
        help: "Get help",
        footer: "This page keeps nothing of what you type and sets no cookies.",
        introduction: "Is your phone lost or stolen, or do you no longer trust it? Delete your {product} here with the "
            + "deletion code that you wrote down when you set the app up.",
        nothingYet: "Nothing is deleted yet: you will be asked first.",
        label: "Deletion code",
        hint: "18 letters and digits, like XXXX-XXXX-XXXX-XXXX-XX. Capitals, dashes and spaces do not matter.",
        next: "Continue",
        noCode: "I do not have my deletion code",
        noCodeInApp: "If you can still open the app, it shows the code under Settings, Deletion code.",
        noCodeHelp: "Nobody can look the code up for you, but we can help you in another way.",
        missing: "Type your deletion code.",
        wrong: "Something is wrong with this code, so nothing was deleted. "
            + "Compare it with what you wrote down.",
        stale: "This page was open for too long, or your internet connection changed. Please go on from here.",
        question: "Do you want to delete this wallet?",
        questionCode: "The code that you typed",
        consequences: [
            "The {product} on the phone stops working at once. Nobody can open it any more.",
            "Nobody can read what is in it any more, not even you.",
            "This cannot be undone. You can set up a new {product} afterwards.",
        ],
        yes: "Yes, delete the wallet",
        no: "No, go back",
        done: "Your {product} was deleted",
        doneAt: "Deleted on",
        doneNext: [
            "The app says so the next time that it is opened. Nobody can use this wallet any more.",
            "You can set up a new {product}, on this phone or another one.",
        ],
        limited: "Too many wrong codes",
        limitedWhy:
            "Too many wrong codes were typed over your internet connection, perhaps by somebody else who uses it. "
            + "Nothing was deleted.",
        limitedUntil: "You can go on at",
        busy: "It is very busy right now",
        busyWhy: "Nothing was deleted. Please try again in a moment.",
        away: "This is not possible right now",
        awayWhy: "The service does not answer. Nothing was deleted. Please try again in a few minutes.",
        unknown: "We do not know yet whether it worked",
        unknownWhy:
            "The service gave no answer, so the wallet may or may not have been deleted. Please try again: doing it "
            + "twice does no harm.",
        again: "Try again",
        refused: "This request was not accepted",
        refusedWhy: "It did not come from this page. Nothing was deleted. Please start at the beginning.",
        tooLongWhy: "It is longer than a deletion code can be. Nothing was deleted. Please start at the beginning.",
        notFound: "There is nothing here",
        notFoundWhy: "This address is not one of this page's. Nothing was deleted.",
        minutes: { $0 == 1 ? "in 1 minute" : "in \($0) minutes" }
    )
}

extension PortalStrings {
    static let dutch = PortalStrings(
        languages: "Taal",
        title: "Verwijder je {product}",
        errorPrefix: "Fout",
        startOver: "Naar het begin",
        help: "Hulp vragen",
        footer: "Deze pagina bewaart niets van wat je invult en plaatst geen cookies.",
        introduction:
            "Is je telefoon kwijt of gestolen, of vertrouw je hem niet meer? Verwijder hier je {product} met de "
            + "verwijdercode die je hebt opgeschreven toen je de app instelde.",
        nothingYet: "Er wordt nog niets verwijderd: we vragen het je eerst.",
        label: "Verwijdercode",
        hint: "18 letters en cijfers, zoals XXXX-XXXX-XXXX-XXXX-XX. Hoofdletters, streepjes en spaties maken niet uit.",
        next: "Verder",
        noCode: "Ik heb mijn verwijdercode niet",
        noCodeInApp: "Als je de app nog kunt openen, vind je de code bij Instellingen, Verwijdercode.",
        noCodeHelp: "Niemand kan de code voor je opzoeken, maar we kunnen je op een andere manier helpen.",
        missing: "Vul je verwijdercode in.",
        wrong: "Er klopt iets niet aan deze code, dus er is niets verwijderd. "
            + "Vergelijk hem met wat je hebt opgeschreven.",
        stale: "Deze pagina stond te lang open, of je internetverbinding is veranderd. Ga hier verder.",
        question: "Wil je deze wallet verwijderen?",
        questionCode: "De code die je hebt ingevuld",
        consequences: [
            "De {product} op de telefoon werkt meteen niet meer. Niemand kan hem nog openen.",
            "Wat erin staat, kan niemand meer lezen, jij ook niet.",
            "Dit kun je niet ongedaan maken. Je kunt daarna wel een nieuwe {product} instellen.",
        ],
        yes: "Ja, verwijder de wallet",
        no: "Nee, ga terug",
        done: "Je {product} is verwijderd",
        doneAt: "Verwijderd op",
        doneNext: [
            "De app laat dit zien als die weer wordt geopend. Niemand kan deze wallet nog gebruiken.",
            "Je kunt een nieuwe {product} instellen, op deze of op een andere telefoon.",
        ],
        limited: "Te veel verkeerde codes",
        limitedWhy:
            "Via jouw internetverbinding zijn te veel verkeerde codes ingevuld, misschien door iemand anders die "
            + "dezelfde verbinding gebruikt. Er is niets verwijderd.",
        limitedUntil: "Je kunt verder om",
        busy: "Het is nu erg druk",
        busyWhy: "Er is niets verwijderd. Probeer het zo nog eens.",
        away: "Dit kan nu niet",
        awayWhy: "De dienst geeft geen antwoord. Er is niets verwijderd. Probeer het over een paar minuten nog eens.",
        unknown: "We weten nog niet of het gelukt is",
        unknownWhy:
            "De dienst gaf geen antwoord. Misschien is de wallet verwijderd, misschien niet. Probeer het nog eens: "
            + "twee keer doen kan geen kwaad.",
        again: "Probeer het nog eens",
        refused: "Dit verzoek is niet aangenomen",
        refusedWhy: "Het kwam niet van deze pagina. Er is niets verwijderd. Begin opnieuw.",
        tooLongWhy: "Het is langer dan een verwijdercode kan zijn. Er is niets verwijderd. Begin opnieuw.",
        notFound: "Hier is niets",
        notFoundWhy: "Dit adres hoort niet bij deze pagina. Er is niets verwijderd.",
        minutes: { $0 == 1 ? "over 1 minuut" : "over \($0) minuten" }
    )
}

/// A language that the page is available in.
enum Language: String, CaseIterable {
    case english = "en"
    case dutch = "nl"

    /// Chooses the language preferred by Accept-Language (RFC 9110 §12.5.4), or English if no supported language is
    /// listed.
    init(accepting field: String?) {
        var best: (language: Language, weight: Double)?
        // Limits the work for a long header. Real headers have fewer ranges.
        for range in (field ?? "").split(separator: ",").prefix(32) {
            let parts = range.split(separator: ";").map { part in part.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let tag = parts.first?.split(separator: "-").first,
                let language = Language(rawValue: String(tag))
            else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            guard weight > 0, weight > best?.weight ?? 0 else { continue }
            best = (language, weight)
        }
        self = best?.language ?? .english
    }

    /// The path of the page in this language.
    var path: String { "/\(self.rawValue)" }

    /// The name of the language in the language itself.
    var name: String {
        switch self {
        case .english: "English"
        case .dutch: "Nederlands"
        }
    }

    var words: PortalStrings {
        switch self {
        case .english: .english
        case .dutch: .dutch
        }
    }
}
