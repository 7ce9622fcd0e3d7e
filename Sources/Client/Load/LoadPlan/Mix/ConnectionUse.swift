/// On what connection a check is made.
package enum ConnectionUse: String, Hashable, Sendable, CaseIterable {
    /// On the one that the last check was made on, with its session, where there is one.
    case warm
    /// On a new connection with a full handshake, and with a session of its own: an unlock.
    case new
    /// As new, but TLS is resumed with a ticket of an earlier connection that was made so.
    case resumed
}

extension Weights<ConnectionUse> {
    /// Reads `warm`, `new`, `resumed`, or weights of them: `warm=90,new=10`.
    package init(parsingUse text: String, place: String = "--connection") throws(PlanProblem) {
        guard text.contains("=") || text.contains(",") else {
            self.init(only: try NameText.read(text, place: place))
            return
        }
        try self.init(parsing: text, place: place)
    }

    /// As ``init(parsingUse:place:)`` reads it.
    package var useText: String { self.only?.rawValue ?? self.text }
}
