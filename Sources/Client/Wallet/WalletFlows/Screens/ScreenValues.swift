/// The names of the values that each screen can show (``Screen/values``).
///
/// A test compares them with the screens that the flows show.
package enum ScreenValues {
    /// All names, sorted.
    package static let all = Set(Self.ofAnyScreen + Self.ofSteps.flatMap(\.names)).sorted()

    /// Returns the names for a step that shows a screen, sorted.
    package static func names(of step: String) -> [String] {
        (Self.ofAnyScreen + Self.ofSteps.filter { $0.steps.contains(step) }.flatMap(\.names)).sorted()
    }

    /// The banner about an update, and the notice about attempts with its parts.
    package static let ofAnyScreen = [
        "attemptHint", "banner", "notice", "tampering", "wrongPINs", "wrongPINsSinceMs",
    ]

    private static let ofSteps: [(names: [String], steps: Set<String>)] = [
        (
            ["attemptsLeft", "finalRound"],
            [
                "PF2.8/2.1", "PF2.8/3.1", "PF2.8/4.1", "PF2.8/6.1", "PF2.8/7.1", "PF2.8/8.1", "UC2.3/1.3", "PF2.4/1.1",
            ]
        ),
        (["remainingMs"], ["PF2.8/5.1", "LOCK/1.4"]),
        (["rule"], ["PF2.9/2.1"]),
        (["deletionCode"], ["UC2.1/1.6", "UC9.12/1.2"]),
        (["product", "server", "version"], ["UC9.2/1.1"]),
        (["cause"], ["PF1.4/1.1h", "PF2.9/1.5d", "UC2.3/1.2i", "PF2.8/1.1m"]),
        (
            ["cause", "correlationID"],
            [
                "UC2.1/1.4", "UC2.1/1.5", "UC2.1/1.6", "UC2.3/1.2", "UC2.2/1.3", "UC2.2/1.5", "UC2.2/1.6", "UC9.12/1.2",
                "UC9.4/1.2", "PF2.4/1.3", "PF2.4/1.6", "UC1.2/2.4", "PF1.4/1.1", "PF2.8/1.1", "PF2.9/1.5", "UC3.1/1.2",
                "UC3.1/1.4",
            ]
        ),
    ]
}
