/// All texts of the page in one language.
///
/// `{product}` stands for the name of the app. The texts use plain words and short sentences, and none of them reveals
/// why a code is wrong.
struct Words {
    var languages: String
    var title: String
    var errorPrefix: String

    // Every page.
    var startOver: String
    var help: String
    var footer: String

    // The form.
    var introduction: String
    var nothingYet: String
    var label: String
    var hint: String
    var next: String
    var noCode: String
    var noCodeInApp: String
    var noCodeHelp: String

    // The form's problems.
    var missing: String
    var wrong: String
    var stale: String

    // The confirmation.
    var question: String
    var questionCode: String
    var consequences: [String]
    var yes: String
    var no: String

    // The outcomes.
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
