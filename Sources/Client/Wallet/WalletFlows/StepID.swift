/// A step of the wallet's flows, by its exact name there: `UC2.1/1.3b`.
///
/// Written in full where a flow takes the step, so that a search for the name finds its place in the code.
public struct StepID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let description: String

    public init(stringLiteral name: StaticString) {
        self.description = name.description
    }

    package init(_ name: String) {
        self.description = name
    }
}
