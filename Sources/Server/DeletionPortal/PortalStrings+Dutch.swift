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
