/// UC1.1 Introduce the app: three pages and the privacy considerations, then UC2.1.
///
///     1/3 ⇄ 2/3 ⇄ 3/3 ⇄ privacy considerations ──Next──▶ UC2.1
///      └─────┴──Skip──────▲   ⇅
///                         privacy statement
struct IntroduceTheApp: Flow {
    private enum State {
        case first
        case second
        case third
        case considerations
        case statement
    }

    private var state = State.first

    // A link cannot be kept for a wallet that is yet to be made (PF2.7).
    var takesLink: Bool { true }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        self.present(.first)
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.first, .next), (.third, .back): self.present(.second)
        case (.second, .back): self.present(.first)
        case (.second, .next): self.present(.third)
        case (.considerations, .back): self.present(.third)
        case (.third, .next), (.first, .skip), (.second, .skip), (.third, .skip): self.present(.considerations)
        case (.considerations, .readPrivacyStatement): self.present(.statement)
        case (.statement, .back): self.present(.considerations)
        case (.considerations, .next): .call(SetUpRemotePIN(from: .notStarted))
        case (_, _): .stay
        }
    }

    private mutating func present(_ state: State) -> Transition {
        self.state = state
        return .show(Self.scene(state))
    }

    private static func scene(_ state: State) -> Scene {
        switch state {
        case .first:
            Scene("UC1.1/1.1", .screen, .introduction(1), .introductionWhat)
                .offering((.next, "UC1.1/1.1a"), (.skip, "UC1.1/1.1b"), (.help, "UC1.1/1.1c"))
        case .second:
            Scene("UC1.1/1.2", .screen, .introduction(2), .introductionShare)
                .offering((.next, "UC1.1/1.2a"), (.back, "UC1.1/1.2b"))
                .offering((.skip, "UC1.1/1.2c"), (.help, "UC1.1/1.2d"))
        case .third:
            Scene("UC1.1/1.3", .screen, .introduction(3), .introductionSecure)
                .offering((.next, "UC1.1/1.3a"), (.back, "UC1.1/1.3b"))
                .offering((.skip, "UC1.1/1.3c"), (.help, "UC1.1/1.3d"))
        case .considerations:
            Scene("UC1.1/1.4", .screen, .privacyConsiderations, .privacySummary)
                .offering((.next, "UC1.1/1.4a"), (.back, "UC1.1/1.4b"))
                .offering((.readPrivacyStatement, "UC1.1/1.4c"), (.help, "UC1.1/1.4d"))
        case .statement:
            Scene("UC1.1/1.5", .screen, .privacyStatement, .privacyInFull).offering((.back, "UC1.1/1.5a"))
        }
    }
}
