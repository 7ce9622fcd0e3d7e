/// The texts of an action that the host application asks the user to confirm (PF2.4).
///
/// The wallet shows the texts and returns them with the outcome. It does not interpret, store, send or sign them.
public struct ConfirmationRequest: Hashable, Sendable {
    /// The action to confirm, such as `Pay 25.00 EUR`, shown as the title of the screen.
    public let title: String
    /// The details of the action, shown as the message of the screen, or an empty string.
    public let details: String

    /// The maximum number of Unicode scalars in ``title``, after control characters are escaped.
    public static let longestTitle = 60
    /// The maximum number of Unicode scalars in ``details``, after control characters are escaped.
    public static let longestDetails = 300

    /// Creates a confirmation from the texts of the host application.
    ///
    /// Control characters, line breaks, controls of the writing direction and invisible characters are escaped as
    /// `\u{1B}`, since parts of the texts may come from others. Variation selectors stay, which belong to an emoji.
    ///
    /// Invariant: every output shows these texts in the same way, so none of them can break a line, change a terminal,
    /// or reorder or hide a part of an amount.
    ///
    /// - Throws: The rule that a text breaks.
    public init(title: String, details: String = "") throws(ConfirmationError) {
        self.title = Self.escaped(title)
        self.details = Self.escaped(details)
        guard !title.unicodeScalars.allSatisfy(Self.isBlank) else { throw .titleIsBlank }
        guard self.title.unicodeScalars.count <= Self.longestTitle else { throw .titleTooLong }
        guard self.details.unicodeScalars.count <= Self.longestDetails else { throw .detailsTooLong }
    }

    private static func escaped(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if Self.isControl(scalar) {
                escaped.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
            } else {
                escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format, .privateUse, .unassigned: true
        case _: scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isVariationSelector
        }
    }

    /// Returns whether a user sees nothing of a scalar.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        // An empty Braille cell is a symbol.
        scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint || scalar == "\u{2800}"
    }
}

/// The rule that a text of a ``ConfirmationRequest`` breaks.
public enum ConfirmationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The title is empty or has only blanks and invisible characters.
    case titleIsBlank
    /// The title has more than ``ConfirmationRequest/longestTitle`` Unicode scalars.
    case titleTooLong
    /// The details have more than ``ConfirmationRequest/longestDetails`` Unicode scalars.
    case detailsTooLong

    /// A description for a log, without the text.
    public var description: String {
        switch self {
        case .titleIsBlank: "the title of a confirmation must not be blank"
        case .titleTooLong: "the title of a confirmation has at most \(ConfirmationRequest.longestTitle) characters"
        case .detailsTooLong:
            "the details of a confirmation have at most \(ConfirmationRequest.longestDetails) characters"
        }
    }
}
