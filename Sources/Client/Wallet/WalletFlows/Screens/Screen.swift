/// A screen in the user's language.
public struct Screen: Hashable, Sendable, Encodable {
    /// The step that shows the screen, such as `UC2.3/1.3`.
    public var step: String
    /// The presentation of the screen.
    public var kind: Kind
    /// The title in the user's language.
    public var title: String
    /// The text below the title in the user's language, or an empty string if the screen has no text.
    public var message: String
    /// Named values.
    ///
    /// Times are integers, and their names end in `Ms`.
    public var values: [String: Value]
    /// The input fields.
    ///
    /// A screen has at most one for a PIN and one for a biometric.
    public var inputs: [Input]
    /// The actions, in display order.
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

    /// The presentation of a screen.
    public enum Kind: String, Hashable, Sendable, Encodable {
        /// The app's entire display.
        case screen
        /// A prompt drawn over the previous screen.
        case prompt
        /// A prompt drawn by the operating system.
        case osPrompt = "os-prompt"
    }

    /// A value on a screen, for use by programs.
    public enum Value: Hashable, Sendable, Encodable {
        /// A text, such as a code.
        case text(String)
        /// A count, or a time in milliseconds.
        case number(Int64)
        /// A Boolean value.
        case truth(Bool)

        /// Encodes the text, number or Boolean without the name of its case.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            case .truth(let truth): try container.encode(truth)
            }
        }
    }

    /// An input field.
    public struct Input: Hashable, Sendable, Encodable {
        /// `pin` for digits, or `biometric` for an input to a system prompt.
        public var id: String
        /// The number of digits, or 0 if the input does not consist of digits.
        public var length: Int
        /// The step taken when the input is complete.
        public var step: String
    }

    /// An action that can be selected.
    public struct Action: Hashable, Sendable, Encodable {
        /// The action name for programs.
        ///
        /// It does not depend on the language.
        public var id: ActionID
        /// The label in the user's language.
        public var title: String
        /// The step taken by the action.
        public var step: String
    }
}

/// The actions on all screens, identified by their names in scenarios and on the command line.
public enum ActionID: String, Hashable, Sendable, CaseIterable, Encodable {
    /// Returns to the previous screen.
    case back
    /// Chooses biometrics as the way to open the wallet.
    case biometric
    /// Opens the biometric unlock settings.
    case biometrics
    /// Calls the help desk.
    case call
    /// Cancels the current use case or prompt.
    case cancel
    /// Starts changing the PIN.
    case changePIN = "change-pin"
    /// Closes a message, or the app if its use is not allowed.
    case close
    /// Deletes a revoked wallet's data and sets up a new wallet.
    case createNewWallet = "create-new-wallet"
    /// Confirms an action of the host application.
    case confirm
    /// Opens the dashboard.
    case dashboard
    /// Starts deleting the app's data; asks for confirmation.
    case deleteData = "delete-data"
    /// Starts deleting the wallet because the user forgot the PIN; asks for confirmation.
    case deleteWallet = "delete-wallet"
    /// Asks for the PIN and shows the deletion code.
    case deletionCode = "deletion-code"
    /// Chooses the phone's passcode as the way to open the wallet.
    case devicePasscode = "device-passcode"
    /// Turns off the biometric unlock.
    case disable
    /// Chooses biometrics or the phone's passcode, at each prompt, as the way to open the wallet.
    case either
    /// Turns on the biometric unlock.
    case enable
    /// Enters the PIN instead of a biometric.
    case enterPassword = "enter-password"
    /// Opens the options for users who forgot the PIN.
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
    /// Starts deleting a wallet that can no longer be opened; asks for confirmation.
    case resetWallet = "reset-wallet"
    /// Repeats the request that failed.
    case retry
    /// Opens the wallet's QR code scanner.
    case scanQRCode = "scan-qr-code"
    /// Opens the settings.
    case settings
    /// Skips optional screens.
    case skip
    /// Starts choosing a PIN from the beginning.
    case startOver = "start-over"
    /// Shows the help desk's contact information.
    case toHelpDesk = "to-help-desk"
    /// Opens the app's store page.
    case toStore = "to-store"
    /// Repeats an entry or a prompt.
    case tryAgain = "try-again"
    /// Confirms that the deletion code has been written down.
    case writtenDown = "written-down"
    /// Confirms that the user is still there, before the app locks due to inactivity.
    case yesContinue = "yes-continue"
    /// Confirms the deletion of the wallet and its data.
    case yesDelete = "yes-delete"
    /// Confirms that the user no longer wants to choose a PIN.
    case yesStop = "yes-stop"

    /// Whether the action deletes the wallet's data or leads to a screen that does.
    ///
    /// Such an action must never be preselected.
    public var destroys: Bool {
        switch self {
        case .createNewWallet, .deleteData, .deleteWallet, .resetWallet, .yesDelete: true
        case .back, .biometric, .biometrics, .call, .cancel, .changePIN, .close, .confirm, .dashboard, .deletionCode,
            .devicePasscode, .disable, .either, .enable, .enterPassword, .forgotPIN, .help, .info, .logOut, .menu,
            .next, .no, .obtain, .ok, .readMore, .readPrivacyStatement, .retry, .scanQRCode, .settings, .skip,
            .startOver, .toHelpDesk, .toStore, .tryAgain, .writtenDown, .yesContinue, .yesStop:
            false
        }
    }
}

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
                "UC9.4/1.2", "PF2.4/1.3", "PF2.4/1.6", "UC1.2/2.4", "PF1.4/1.1", "PF2.8/1.1", "PF2.9/1.5", "UC3.1/1.4",
            ]
        ),
    ]
}
