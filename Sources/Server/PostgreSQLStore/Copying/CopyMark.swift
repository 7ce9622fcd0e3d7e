internal import Secrets
internal import Vocabulary

/// The store's record of the copy that fills or filled it.
///
/// Invariant (G3): while a copy is unfinished, no server judges anything here. Missing wallets could register again
/// with no counted attempts, and if the source was served in the meantime, the copied values could be older than its
/// counts. Every batch and every transaction reads the mark (``StoreSession/take(_:)``).
struct CopyMark: Hashable, Sendable {
    /// Identifies this copy.
    ///
    /// The source names it once it has been moved.
    let name: String
    /// The digest of the source when the copy began.
    var digest: String
    var isFinished = false

    private static let unfinished = "unfinished"
    private static let finished = "finished"

    /// An SQL expression for whether a copy is unfinished.
    static let isUnfinished = "coalesce(copy like '\(CopyMark.unfinished) %', false)"

    init(named name: String = SecretBytes.random(count: 16).exposedBytes().hex, of digest: String) {
        self.name = name
        self.digest = digest
    }

    /// Parses ``text``.
    ///
    /// Returns nil for any other string.
    init?(reading text: String) {
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 3, [Self.unfinished, Self.finished].contains(words[0]) else { return nil }
        self.init(named: words[1], of: words[2])
        self.isFinished = words[0] == Self.finished
    }

    var text: String { "\(self.isFinished ? Self.finished : Self.unfinished) \(self.name) \(self.digest)" }
}
