/// What a person sees, in their language.
public struct Screen: Hashable, Sendable {
    /// The step that shows it: `UC2.3/1.3`.
    public var step: String
    public var kind: Kind
    public var title: String
    public var message: String
    /// Named values; times are integers whose name ends in `Ms`.
    public var values: [String: Value]
    public var inputs: [Input]
    public var actions: [Action]

    /// What is there before the first launch.
    public static let none = Screen(
        step: "",
        kind: .screen,
        title: "",
        message: "",
        values: [:],
        inputs: [],
        actions: []
    )

    public enum Kind: String, Hashable, Sendable {
        case screen
        /// Over the screen before.
        case prompt
        /// Drawn by the operating system.
        case osPrompt = "os-prompt"
    }

    public enum Value: Hashable, Sendable {
        case text(String)
        case number(Int64)
        case truth(Bool)
    }

    /// Something to be typed.
    public struct Input: Hashable, Sendable {
        /// `pin` for digits, `biometric` for whatever an os-prompt takes.
        public var id: String
        /// Digits that it takes; 0 where it takes none.
        public var length: Int
        public var step: String
    }

    /// Something to be selected.
    public struct Action: Hashable, Sendable {
        public var id: ActionID
        public var title: String
        public var step: String
    }
}

/// Everything that can be selected on some screen; a scenario and the command line name it so.
public enum ActionID: String, Hashable, Sendable, CaseIterable {
    case back
    case biometric
    case biometrics
    case call
    case cancel
    case changePIN = "change-pin"
    case close
    case createNewWallet = "create-new-wallet"
    case dashboard
    case deleteData = "delete-data"
    case deleteWallet = "delete-wallet"
    case deletionCode = "deletion-code"
    case devicePasscode = "device-passcode"
    case disable
    case either
    case enable
    case enterPassword = "enter-password"
    case forgotPIN = "forgot-pin"
    case help
    case info
    case logOut = "log-out"
    case menu
    case next
    case no
    case obtain
    case ok
    case readMore = "read-more-information"
    case readPrivacyStatement = "read-privacy-statement"
    case resetWallet = "reset-wallet"
    case retry
    case scanQRCode = "scan-qr-code"
    case settings
    case skip
    case startOver = "start-over"
    case toHelpDesk = "to-help-desk"
    case toStore = "to-store"
    case tryAgain = "try-again"
    case writtenDown = "written-down"
    case yesContinue = "yes-continue"
    case yesDelete = "yes-delete"
    case yesStop = "yes-stop"

    /// Whether it deletes the wallet's data, or leads to where that is offered: never what happens to be chosen first.
    public var destroys: Bool {
        switch self {
        case .createNewWallet, .deleteData, .deleteWallet, .resetWallet, .yesDelete: true
        case .back, .biometric, .biometrics, .call, .cancel, .changePIN, .close, .dashboard, .deletionCode,
            .devicePasscode, .disable, .either, .enable, .enterPassword, .forgotPIN, .help, .info, .logOut, .menu,
            .next, .no, .obtain, .ok, .readMore, .readPrivacyStatement, .retry, .scanQRCode, .settings, .skip,
            .startOver, .toHelpDesk, .toStore, .tryAgain, .writtenDown, .yesContinue, .yesStop:
            false
        }
    }
}
