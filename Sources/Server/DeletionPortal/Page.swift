internal import Foundation
internal import Vocabulary

/// What the page shows.
enum Page: Hashable {
    /// The field for the code, with what was typed before.
    case form(typed: String, problem: Problem?)
    /// Whether to delete.
    case question(typed: String)
    /// It is done, now or before.
    case done(typed: String, at: Timestamp)
    /// Too many wrong codes.
    case limited(until: Timestamp)
    /// The server's own limit.
    case busy(typed: String)
    /// The server does not answer, and nothing was done.
    case away(typed: String)
    /// The server gave no answer to what was asked.
    case unknown(typed: String)
    /// A request that no page of ours sends.
    case refused
    case notFound

    /// Why the form is shown again.
    enum Problem: Hashable {
        /// Nothing was typed.
        case missing
        /// Something is wrong; what, is not said.
        case wrong
        /// The form's seal is not good any more.
        case stale
    }

    /// What was typed, where the page shows it again or needs it for its next step.
    var typed: String? {
        switch self {
        case .form(let typed, _), .question(let typed), .done(let typed, _), .busy(let typed), .away(let typed),
            .unknown(let typed):
            typed.isEmpty ? nil : typed
        case .limited, .refused, .notFound: nil
        }
    }

    /// The step with which the same page is got in another language; nil where a link does.
    var stepToItself: Portal.Step? {
        guard self.typed != nil else { return nil }
        return switch self {
        case .question: .check
        case .done: .delete
        case .form, .busy, .away, .unknown: .back
        case .limited, .refused, .notFound: nil
        }
    }
}
