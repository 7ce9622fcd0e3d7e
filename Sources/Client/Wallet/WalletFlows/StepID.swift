/// A step of the wallet's flows, by its exact name there: `UC2.1/1.3b`.
///
/// The name is always written in full where a flow takes the step, so that it can be found by searching the code.
public struct StepID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The step's name in the flows.
    public let description: String

    /// Names a step in the source.
    public init(stringLiteral name: StaticString) {
        self.description = name.description
    }

    /// Names a step that is read at run time, such as from a scenario.
    package init(_ name: String) {
        self.description = name
    }
}
