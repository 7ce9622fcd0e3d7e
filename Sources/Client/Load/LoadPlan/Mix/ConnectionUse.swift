/// The connection used for a check.
package enum ConnectionUse: String, Hashable, Sendable, CaseIterable {
    /// The connection and session of the previous check, if still open.
    case warm
    /// A new connection with a full handshake and a new session, as for an unlock.
    case new
    /// A new connection and session, using TLS resumption with the ticket from an earlier such connection.
    case resumed
}

extension Weights<ConnectionUse> {
    /// Parses a single use such as `warm`, or weights such as `warm=90,new=10`.
    package init(parsingUse text: String, place: String = "--connection") throws(PlanProblem) {
        guard text.contains("=") || text.contains(",") else {
            self.init(only: try NameText.read(text, place: place))
            return
        }
        try self.init(parsing: text, place: place)
    }

    /// The text form, as parsed by ``init(parsingUse:place:)``.
    package var useText: String { self.only?.rawValue ?? self.text }
}
