internal import Vocabulary

/// What a person typed as deletion code.
///
/// Forgiving beyond ``DeletionCode``: phones and word processors make other dashes and spaces of what is typed or pasted.
struct TypedCode: Hashable {
    /// As the page shows it again: in groups where it could be a code, else as it was typed, shortened.
    let shown: String
    /// Nil where it cannot be a code.
    private let code: DeletionCode?

    /// The longest text that is shown again, in characters.
    static let longest = 64
    /// What the server is asked instead of what cannot be a code.
    ///
    /// No code has a U, so it is looked up and not found, as any wrong code is. What somebody pasted by mistake stays here.
    private static let unreadable = String(repeating: "U", count: DeletionCode.length)

    init(_ text: String) {
        let kept = text.unicodeScalars.filter { scalar in
            let isSeparator = scalar.properties.isWhitespace || scalar.properties.isDash
            let category = scalar.properties.generalCategory
            return !isSeparator && category != .control && category != .format
        }
        self.code = DeletionCode(String(String.UnicodeScalarView(kept)))
        let words = text.split {
            $0.isWhitespace || $0.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        self.shown = self.code?.grouped ?? String(words.joined(separator: " ").prefix(Self.longest))
    }

    /// Whether nothing was typed.
    var isEmpty: Bool { self.shown.isEmpty }

    /// What the server is asked.
    var asked: String { self.code?.characters ?? Self.unreadable }
}
