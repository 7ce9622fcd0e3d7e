internal import Phone
internal import ConfigText
internal import WalletCore
internal import WalletFlows

/// Why a line was not done; nothing has happened.
struct DriveRefusal: Error {
    /// By its name in the output; a name never changes its meaning.
    enum Reason: String, CaseIterable {
        /// No JSON object, or one without `do`.
        case badLine = "bad-line"
        /// Longer than any command.
        case tooLong = "too-long"
        case unknownCommand = "unknown-command"
        case missingField = "missing-field"
        case badValue = "bad-value"
        /// The present screen has no such action.
        case notOffered = "not-offered"
        /// The present screen asks for no PIN.
        case noInput = "no-input"
        /// The operating system asks nothing.
        case noPrompt = "no-prompt"
        /// No process of the app runs.
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

    /// The same, about this command.
    func of(_ command: DriveRequest) -> DriveRefusal {
        var refusal = self
        refusal.command = command.name.rawValue
        refusal.id = command.id
        return refusal
    }
}

extension DriveRefusal {
    /// What the phone did not do, in the words of this output.
    init(_ error: PhoneError, screen: Screen) {
        let message = error.description
        switch error {
        case .notRunning: self.init(.notRunning, message)
        case .inBackground: self.init(.inBackground, message)
        case .wallet(.notOffered(let action)):
            let offered = screen.actions.map(\.id.rawValue)
            self.init(
                .notOffered,
                "the present screen does not offer it; it offers \(offered.joined(separator: ", "))",
                nearest: NearestName.to(action.rawValue, among: offered)
            )
        case .wallet(.noInput): self.init(.noInput, message)
        case .wallet(.noPrompt): self.init(.noPrompt, message)
        case .usage, .device: self.init(.badValue, message)
        case .wallet, .storage, .homeInUse: self.init(.failed, message)
        }
    }

    /// A name that no screen of any app offers.
    init(unknownAction name: String, screen: Screen) {
        let offered = screen.actions.map(\.id.rawValue)
        self.init(
            .notOffered,
            "there is no such action; the present screen offers \(offered.joined(separator: ", "))",
            nearest: NearestName.to(name, among: offered)
                ?? NearestName.to(name, among: ActionID.allCases.map(\.rawValue))
        )
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
