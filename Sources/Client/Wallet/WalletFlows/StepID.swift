/// A step in the wallet's flows, identified by its exact name, such as `UC2.1/1.3b`.
///
/// Names are always written in full where a flow takes a step, so that they can be found by searching the code.
public struct StepID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name of the step in the flows.
    public let description: String

    /// Creates a step from a name in the source code.
    public init(stringLiteral name: StaticString) {
        self.description = name.description
    }

    /// Creates a step from a name that is read at run time, for example from a scenario.
    package init(_ name: String) {
        self.description = name
    }
}
