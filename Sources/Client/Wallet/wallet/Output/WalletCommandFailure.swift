import ArgumentParser
internal import Phone

/// The failure of a command: a message for the user and the exit status.
struct WalletCommandFailure: Error {
    var status: WalletExitStatus
    var message: String

    init(status: WalletExitStatus, message: String) {
        self.status = status
        self.message = message
    }

    /// Translates any error thrown by a command.
    init(_ error: any Error) {
        if let failure = error as? WalletCommandFailure {
            self = failure
        } else {
            let error = PhoneError(error)
            self.init(status: error.exitStatus, message: error.description)
        }
    }

    static func usage(_ message: String) -> WalletCommandFailure {
        WalletCommandFailure(status: .usage, message: message)
    }
}

extension WalletExitStatus {
    var exitCode: ExitCode { ExitCode(self.rawValue) }
}
