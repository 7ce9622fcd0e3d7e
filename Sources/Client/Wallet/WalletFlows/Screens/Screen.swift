/// A screen in the user's language.
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

    /// The screen before the first launch.
    package static let none = Screen(
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
        /// Drawn over the screen before.
        case prompt
        /// Drawn by the operating system.
        case osPrompt = "os-prompt"
    }

    public enum Value: Hashable, Sendable {
        case text(String)
        case number(Int64)
        case truth(Bool)
    }

    /// An input field.
    public struct Input: Hashable, Sendable {
        /// `pin` for digits, `biometric` for the presentation to an os-prompt.
        public var id: String
        /// The number of digits; 0 for an input without digits.
        public var length: Int
        public var step: String
    }

    /// An action to select.
    public struct Action: Hashable, Sendable {
        public var id: ActionID
        public var title: String
        public var step: String
    }
}

/// The actions of all screens, by their names in scenarios and on the command line.
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

    /// True if the action deletes the wallet's data or leads to a screen that does; it must never be preselected.
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
