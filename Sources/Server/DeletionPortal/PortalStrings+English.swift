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
