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
