/// UC1.1 Introduce the app: shows three pages and the privacy considerations, then continues with UC2.1.
///
///     1/3 ⇄ 2/3 ⇄ 3/3 ⇄ privacy considerations ──Next──▶ UC2.1
///      └─────┴──Skip──────▲   ⇅
///                         privacy statement
struct IntroduceTheApp: Flow {
    enum State {
        case first, second, third, considerations, statement
    }

    var state = State.first

    // No wallet exists yet to keep a link for (PF2.7).
    var takesLink: Bool { true }

    func enter(_ snapshot: Snapshot) -> Transition { .show(self.dialog) }

    private var dialog: Dialog {
        switch self.state {
        case .first:
            Dialog("UC1.1/1.1", .screen, .introduction(1), .introductionWhat)
                .offering(.next, "UC1.1/1.1a", self.to(.second))
                .offering(.skip, "UC1.1/1.1b", self.to(.considerations))
                .offeringHelp("UC1.1/1.1c")
        case .second:
            Dialog("UC1.1/1.2", .screen, .introduction(2), .introductionShare)
                .offering(.next, "UC1.1/1.2a", self.to(.third))
                .offering(.back, "UC1.1/1.2b", self.to(.first))
                .offering(.skip, "UC1.1/1.2c", self.to(.considerations))
                .offeringHelp("UC1.1/1.2d")
        case .third:
            Dialog("UC1.1/1.3", .screen, .introduction(3), .introductionSecure)
                .offering(.next, "UC1.1/1.3a", self.to(.considerations))
                .offering(.back, "UC1.1/1.3b", self.to(.second))
                .offering(.skip, "UC1.1/1.3c", self.to(.considerations))
                .offeringHelp("UC1.1/1.3d")
        case .considerations:
            Dialog("UC1.1/1.4", .screen, .privacyConsiderations, .privacySummary)
                .offering(.next, "UC1.1/1.4a", .call(SetUpRemotePIN(from: .notStarted)))
                .offering(.back, "UC1.1/1.4b", self.to(.third))
                .offering(.readPrivacyStatement, "UC1.1/1.4c", self.to(.statement))
                .offeringHelp("UC1.1/1.4d")
        case .statement:
            Dialog("UC1.1/1.5", .screen, .privacyStatement, .privacyInFull)
                .offering(.back, "UC1.1/1.5a", self.to(.considerations))
        }
    }
}
