/// A screen in the user's language.
public struct Screen: Hashable, Sendable {
    /// The step that shows it: `UC2.3/1.3`.
    public var step: String
    /// The place where the screen is drawn.
    public var kind: Kind
    /// The title in the user's language.
    public var title: String
    /// The text below the title in the user's language; empty if the screen has none.
    public var message: String
    /// Named values; times are integers whose name ends in `Ms`.
    public var values: [String: Value]
    /// The input fields: at most one for a PIN and one for a biometric.
    public var inputs: [Input]
    /// The actions in the order of display.
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

    /// The place where a screen is drawn.
    public enum Kind: String, Hashable, Sendable {
        /// The whole display of the app.
        case screen
        /// Drawn over the screen before.
        case prompt
        /// Drawn by the operating system.
        case osPrompt = "os-prompt"
    }

    /// A value on a screen, for programs.
    public enum Value: Hashable, Sendable {
        /// A text, such as a code.
        case text(String)
        /// A count, or a time in milliseconds.
        case number(Int64)
        /// A condition.
        case truth(Bool)
    }

    /// An input field.
    public struct Input: Hashable, Sendable {
        /// `pin` for digits, `biometric` for the presentation to an os-prompt.
        public var id: String
        /// The number of digits; 0 for an input without digits.
        public var length: Int
        /// The step that a complete entry takes.
        public var step: String
    }

    /// An action to select.
    public struct Action: Hashable, Sendable {
        /// The action's name for programs, the same in every language.
        public var id: ActionID
        /// The label in the user's language.
        public var title: String
        /// The step that the action takes.
        public var step: String
    }
}

/// The actions of all screens, by their names in scenarios and on the command line.
public enum ActionID: String, Hashable, Sendable, CaseIterable {
    /// Returns to the screen before.
    case back
    /// Chooses biometrics as the means to open the wallet.
    case biometric
    /// Opens the settings of the biometric unlock.
    case biometrics
    /// Calls the help desk.
    case call
    /// Cancels the present use case or prompt.
    case cancel
    /// Starts a change of the PIN.
    case changePIN = "change-pin"
    /// Closes a message, or the app if it may not be used.
    case close
    /// Deletes a revoked wallet's data, then sets up a new wallet.
    case createNewWallet = "create-new-wallet"
    /// Opens the dashboard.
    case dashboard
    /// Starts the deletion of the app's data, which asks for confirmation.
    case deleteData = "delete-data"
    /// Starts the deletion of the wallet whose PIN the user forgot, which asks for confirmation.
    case deleteWallet = "delete-wallet"
    /// Shows the deletion code, after the PIN.
    case deletionCode = "deletion-code"
    /// Chooses the phone's passcode as the means to open the wallet.
    case devicePasscode = "device-passcode"
    /// Turns the biometric unlock off.
    case disable
    /// Chooses biometrics or the phone's passcode, at each prompt, as the means to open the wallet.
    case either
    /// Turns the biometric unlock on.
    case enable
    /// Enters the PIN instead of a biometric.
    case enterPassword = "enter-password"
    /// Opens the options for a user who forgot the PIN.
    case forgotPIN = "forgot-pin"
    /// Opens the help, which is not part of this app.
    case help
    /// Opens information about the app.
    case info
    /// Locks the wallet.
    case logOut = "log-out"
    /// Opens the menu.
    case menu
    /// Continues to the next screen.
    case next
    /// Answers a question with no.
    case no
    /// Obtains the identification data from the issuer.
    case obtain
    /// Acknowledges a message.
    case ok
    /// Opens further information.
    case readMore = "read-more-information"
    /// Opens the privacy statement.
    case readPrivacyStatement = "read-privacy-statement"
    /// Starts the deletion of a wallet that can no longer be opened, which asks for confirmation.
    case resetWallet = "reset-wallet"
    /// Repeats the failed request.
    case retry
    /// Opens the wallet's scanner for QR codes.
    case scanQRCode = "scan-qr-code"
    /// Opens the settings.
    case settings
    /// Skips optional screens.
    case skip
    /// Starts the choice of a PIN again.
    case startOver = "start-over"
    /// Shows the contact of the help desk.
    case toHelpDesk = "to-help-desk"
    /// Opens the app's page in the store.
    case toStore = "to-store"
    /// Repeats an entry or a prompt.
    case tryAgain = "try-again"
    /// Confirms that the deletion code is written down.
    case writtenDown = "written-down"
    /// Confirms that the user continues to use the app, before an inactivity lock.
    case yesContinue = "yes-continue"
    /// Confirms the deletion of the wallet and its data.
    case yesDelete = "yes-delete"
    /// Confirms that the user stops the choice of a PIN.
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
