/// A step in the wallet's flows, identified by its exact name, such as `UC2.1/1.3b`.
///
/// Names are always written in full where a flow takes a step, so that they can be found by searching the code.
public struct StepID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name of the step in the flows.
    public let description: String

    /// Creates a step from a name in the source code.
    public init(stringLiteral name: StaticString) { self.description = name.description }

    /// Creates a step from a name that is read at run time, for example from a scenario.
    package init(_ name: String) { self.description = name }
}

/// The list of all steps.
///
/// A test compares it with its copy in docs/steps.txt and with the steps used in the flows.
extension StepID {
    /// The steps of all flows, in the order of docs/steps.txt.
    package static let documented: [StepID] = Self.text.split(separator: "\n").flatMap { line in
        let words = line.split(separator: " ")
        return words.dropFirst().map { StepID("\(words[0])/\($0)") }
    }

    /// The documented steps, and the steps that show an error that is not one of their documented cases.
    package static let all: [StepID] =
        Self.documented + ["UC1.2/2.4", "PF1.4/1.1", "PF2.8/1.1", "PF2.9/1.5", "UC3.1/1.4"]

    /// Each line contains the name of a flow and the numbers of its steps.
    private static let text = """
        UC1.2 1.1a 1.1b 2.1 2.1a 2.2a 2.2b 2.3a 2.4a 2.4b 2.4c 2.4d 2.4e 2.5a 2.5b 3.1a 3.1b 3.2a 3.2b 3.3a 3.3b
        UC1.2 3.4a 3.4b 3.4c 4.1 4.1a 4.1b 4.2 4.2a 4.2b 5.1 5.1a 5.1b 5.1c 5.2 5.2a 5.2b 6.1 6.1a 6.1b 6.2 6.2a
        UC1.2 6.2b 7.1 7.1a 7.1b 7.2 7.2a
        PF1.4 1.1a 1.1b 1.1c 1.1d 1.1e 1.1f 1.1g 1.1h 2.1 2.1a 2.1b 3.1 3.1a 3.1b
        UC1.1 1.1 1.1a 1.1b 1.1c 1.2 1.2a 1.2b 1.2c 1.2d 1.3 1.3a 1.3b 1.3c 1.3d 1.4 1.4a 1.4b 1.4c 1.4d 1.5 1.5a
        PF2.9 1.1 1.1a 1.1b 1.1c 1.2a 1.2b 1.3 1.3a 1.3b 1.3c 1.4a 1.4b 1.4c 1.5a 1.5b 1.5c 1.5d 2.1 2.1a 3.1 3.1a
        PF2.9 4.1 4.1a 5.1 5.1a 5.1b 5.2 5.2a
        UC2.1 1.1a 1.1b 1.2a 1.2b 1.3 1.3a 1.3b 1.3c 1.4 1.4a 1.4b 1.5 1.5a 1.6 1.6a 1.6b
        UC2.3 1.1a 1.1b 1.2 1.2a 1.2b 1.2c 1.2d 1.2e 1.2f 1.2g 1.2h 1.2i 1.3 1.3a 1.3b 1.3c 1.4a 1.4b 1.4c 1.5a
        UC2.3 1.5b 1.6a 1.6b 1.6c 1.7a 1.7b 2.1 2.1a 2.1b 3.1 3.1a 3.1b 4.1 4.1a 4.1b 5.1 5.1a 5.2 5.2a 6.1 6.1a
        UC2.3 6.1b
        PF2.8 1.1a 1.1b 1.1c 1.1d 1.1e 1.1f 1.1g 1.1h 1.1i 1.1j 1.1k 1.1l 1.1m 2.1 2.1a 2.1b 3.1 3.1a 3.1b 4.1
        PF2.8 4.1a 4.1b 5.1 5.1a 5.1b 5.1c 5.1d 5.1e 6.1 6.1a 6.1b 7.1 7.1a 7.1b 8.1 8.1a 8.1b 9.1 9.1a 9.1b 10.1
        PF2.8 10.1a 10.1b
        PF2.7 1.1a 1.1b 1.1c 1.1d 1.1e 2.1 2.1a 2.1b 3.1 3.1a 4.1 4.1a
        UC3.1 1.1 1.1a 1.1b 1.2a 1.2b 1.3a 1.3b 1.4a 1.4b
        UC2.2 1.1 1.1a 1.1b 1.1c 1.2 1.2a 1.3 1.3a 1.3b 1.4a 1.4b 1.5 1.6 1.7 1.7a 1.7b 1.7c
        UC2.6 1.1a 1.1b 1.2a 1.2b 1.3 1.3a 1.3b
        UC9.12 1.1a 1.1b 1.2 1.2a
        UC9.4 1.1 1.1a 1.1b 1.2 1.2a 1.2b
        PF2.4 1.1 1.1a 1.1b 1.1c 1.1d 1.1e 1.2a 1.2b 1.2c 1.3 1.4 1.5 1.5a 1.5b 1.5c 1.6 1.6a 1.6b 1.6c 1.6d
        UC7.1 1.1 1.1a 1.2 1.2a 1.2b 1.2c 1.3 1.3a 1.3b 1.3c 1.3d 1.3e
        UC9.2 1.1 1.1a
        LOCK 1.1 1.2 1.3 1.4 1.4a 1.4b 1.5
        """
}
