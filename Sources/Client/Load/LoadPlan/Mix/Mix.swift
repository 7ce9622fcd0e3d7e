/// One thing that a run asks of the server.
package enum Action: String, Hashable, Sendable, CaseIterable {
    case right
    case wrong
    case changePIN = "change-pin"
    case register
}

/// How often each action is asked for, among all of them.
package typealias Mix = Weights<Action>

extension Mix {
    /// Reads `right=90,wrong=10,change-pin=1,register=0.5`.
    package init(parsing text: String) throws(PlanProblem) {
        try self.init(parsing: text, place: "--mix")
    }
}
