internal import Phone
internal import ConfigText
internal import WalletCore
internal import WalletFlows

/// Describes why a command was rejected.
///
/// Rejected commands have no effect.
struct DriveRefusal: Error {
    /// The reason as it appears in the output.
    ///
    /// Names never change their meaning.
    enum Reason: String, CaseIterable {
        /// The line is not a JSON object, or `do` is missing.
        case badLine = "bad-line"
        /// The line exceeds the maximum length.
        case tooLong = "too-long"
        case unknownCommand = "unknown-command"
        case missingField = "missing-field"
        /// The command does not support the field.
        case unknownField = "unknown-field"
        case badValue = "bad-value"
        /// The current screen does not offer the action, or the app cannot ask for a confirmation now.
        case notOffered = "not-offered"
        /// The current screen does not ask for a PIN.
        case noInput = "no-input"
        /// No system prompt is open.
        case noPrompt = "no-prompt"
        /// The app's process is not running.
        case notRunning = "not-running"
        case inBackground = "in-background"
        /// The wallet's files or its device failed.
        case failed
    }

    var reason: Reason
    var message: String
    var nearest: String?
    var command: String?
    var id: String?

    init(_ reason: Reason, _ message: String, nearest: String? = nil, id: String? = nil) {
        self.reason = reason
        self.message = message
        self.nearest = nearest
        self.id = id
    }

    /// Returns a copy with the command name and id.
    func of(_ command: DriveRequest) -> DriveRefusal {
        var refusal = self
        refusal.command = command.name.rawValue
        refusal.id = command.id
        return refusal
    }
}

extension DriveRefusal {
    /// Converts an error thrown by a command.
    init(_ error: any Error, screen: Screen) {
        if let refusal = error as? DriveRefusal {
            self = refusal
            return
        }
        let error = PhoneError(error)
        let message = error.description
        switch error {
        case .notRunning: self.init(.notRunning, message)
        case .inBackground: self.init(.inBackground, message)
        case .wallet(.notOffered(let action)):
            let offered = screen.actions.map(\.id.rawValue)
            self.init(
                .notOffered,
                Self.offer(of: screen),
                nearest: NearestName.to(action.rawValue, among: offered)
            )
        case .wallet(.noInput): self.init(.noInput, message)
        case .wallet(.noPrompt): self.init(.noPrompt, message)
        case .wallet(.locked), .wallet(.cannotConfirm): self.init(.notOffered, message)
        case .usage: self.init(.badValue, message)
        case .wallet, .storage, .device, .homeInUse: self.init(.failed, message)
        }
    }

    /// Creates the error for an action name that does not exist.
    init(unknownAction name: String, screen: Screen) {
        let offered = screen.actions.map(\.id.rawValue)
        self.init(
            .notOffered,
            "no such action; \(Self.offer(of: screen))",
            nearest: NearestName.to(name, among: offered)
                ?? NearestName.to(name, among: ActionID.allCases.map(\.rawValue))
        )
    }

    /// Returns a sentence that lists the actions on the current screen.
    private static func offer(of screen: Screen) -> String {
        let offered = screen.actions.map(\.id.rawValue).joined(separator: ", ")
        guard offered.isEmpty else { return "the current screen offers only \(offered)" }
        guard let input = screen.inputs.first else { return "the current screen offers no action" }
        return "the current screen offers no action; it waits for \(input.id == "pin" ? "`enter`" : "`biometric`")"
    }

    var line: OutputLine {
        .refused(
            command: self.command,
            id: self.id,
            reason: self.reason.rawValue,
            message: self.message,
            nearest: self.nearest
        )
    }
}
