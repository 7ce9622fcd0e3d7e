/// A kind of operation that a run performs on the server.
package enum Action: String, Hashable, Sendable, CaseIterable {
    case right
    case wrong
    case changePIN = "change-pin"
    case register
}

/// The relative frequencies of the actions.
package typealias Mix = Weights<Action>

extension Mix {
    /// Parses weights such as `right=90,wrong=10,change-pin=1,register=0.5`.
    package init(parsing text: String) throws(PlanProblem) {
        try self.init(parsing: text, place: "--mix")
    }
}
