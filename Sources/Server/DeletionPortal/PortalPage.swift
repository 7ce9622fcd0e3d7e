internal import Vocabulary

/// The contents of a page.
enum PortalPage: Hashable {
    /// The form with the code field, which contains the text entered before.
    case form(typed: String, problem: Problem?)
    /// The question of whether to delete the wallet.
    case question(typed: String)
    /// The wallet was deleted, now or earlier.
    case done(typed: String, at: Timestamp)
    /// Too many wrong codes were entered.
    case limited(until: Timestamp)
    /// The server's own limit was reached.
    case busy(typed: String)
    /// The server cannot be reached, and nothing was done.
    case away(typed: String)
    /// The server received the request but did not answer.
    case unknown(typed: String)
    /// The request was not sent by a page of the portal.
    case refused
    /// The form is longer than any form on the portal's pages.
    case tooLong
    case notFound

    /// The reason the form is shown again.
    enum Problem: Hashable {
        /// The field was empty.
        case missing
        /// The code is wrong.
        ///
        /// The page does not say why.
        case wrong
        /// The form's seal has expired or is invalid.
        case stale
    }

    /// The text that was entered, if the page shows it again or needs it for the next step.
    var typed: String? {
        switch self {
        case .form(let typed, _), .question(let typed), .done(let typed, _), .busy(let typed), .away(let typed),
            .unknown(let typed):
            typed.isEmpty ? nil : typed
        case .limited, .refused, .tooLong, .notFound: nil
        }
    }

    /// The step that shows the same page in another language, or nil if a link is sufficient.
    var stepToItself: Portal.Step? {
        guard self.typed != nil else { return nil }
        return switch self {
        case .question: .check
        case .done: .delete
        case .form, .busy, .away, .unknown: .back
        case .limited, .refused, .tooLong, .notFound: nil
        }
    }
}
