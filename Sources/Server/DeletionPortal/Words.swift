/// Everything that the page says, in one language.
///
/// `{product}` stands for the app's name. Plain words, short sentences, and nothing that tells why a code is wrong.
struct Words {
    var languages: String
    var title: String
    var errorPrefix: String

    // What every page has.
    var startOver: String
    var help: String
    var footer: String

    // Typing the code.
    var introduction: String
    var nothingYet: String
    var label: String
    var hint: String
    var next: String
    var noCode: String
    var noCodeInApp: String
    var noCodeHelp: String

    // What can be wrong with it.
    var missing: String
    var wrong: String
    var stale: String

    // The question.
    var question: String
    var questionCode: String
    var consequences: [String]
    var yes: String
    var no: String

    // The ends.
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
    var notFound: String
    var notFoundWhy: String

    /// Of a whole number of minutes.
    var minutes: @Sendable (Int) -> String
}
