internal import Vocabulary

/// A deletion code as entered by a user.
struct TypedCode: Hashable {
    /// The text that the page shows again: grouped if it can be a code, otherwise as entered but truncated.
    let shown: String
    /// The code, or nil if the text cannot be one.
    private let code: DeletionCode?

    /// The maximum length of the text shown again, in characters.
    static let longest = 64
    /// The code sent to the server in place of text that cannot be a code.
    ///
    /// No code contains a U, so the lookup fails just as for any wrong code. Text pasted by mistake never leaves the
    /// portal.
    private static let unreadable = String(repeating: "U", count: DeletionCode.length)

    init(_ text: String) {
        self.code = DeletionCode(text)
        let words = text.split {
            $0.isWhitespace || $0.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        self.shown = self.code?.grouped ?? String(words.joined(separator: " ").prefix(Self.longest))
    }

    /// Whether the text is empty.
    var isEmpty: Bool { self.shown.isEmpty }

    /// The code to send to the server.
    var asked: String { self.code?.characters ?? Self.unreadable }
}
