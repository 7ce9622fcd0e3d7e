internal import PostgreSQLClient

/// The statements of the store, by their text.
///
/// The text is compared without differences in white space. A statement that has changed, or is not used in a simulated
/// run, is not found, which ends the run.
enum DatabaseStatement {
    typealias Action = @Sendable (inout StatementExecution) throws -> SimulatedRows

    private static let actions: [String: Action] = {
        let all =
            Self.sessionStatements + Self.judgingStatements + Self.transactionStatements + Self.registeringStatements
            + Self.readingStatements + Self.leaseStatements + Self.epochStatements
        return Dictionary(all.map { (Self.plain($0.0), $0.1) }, uniquingKeysWith: { first, _ in first })
    }()

    /// The actions by the exact text, once it was found.
    nonisolated(unsafe) private static var found: [String: Action] = [:]

    static func named(_ text: String) -> Action? {
        if let action = unsafe self.found[text] { return action }
        let plain = Self.plain(text)
        // The tables are made by one statement; the facts are inserted later.
        let action = plain.hasPrefix("do $body$ begin") ? Self.nothing : self.actions[plain]
        unsafe self.found[text] = action
        return action
    }

    /// Returns the tables that a statement changes, according to its text.
    static func changedTables(_ text: String) -> Set<String> {
        let words = text.split { $0.isWhitespace || "(),".contains($0) }.map(String.init)
        var tables: Set<String> = []
        for (place, word) in words.enumerated().dropFirst() {
            let before = place > 1 ? words[place - 2] : ""
            switch words[place - 1] {
            case "into": tables.insert(word)
            // Not "on conflict … do update set", "for update" or "for no key update".
            case "update" where word != "set" && before != "for" && before != "key": tables.insert(word)
            case "from" where before == "delete": tables.insert(word)
            default: break
            }
        }
        return tables
    }

    private static let nothing: Action = { _ in SimulatedRows() }

    private static func plain(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// A row or none.
    static func rows(_ row: [PostgreSQLValue]?) -> SimulatedRows { SimulatedRows(row.map { [$0] } ?? []) }
}
