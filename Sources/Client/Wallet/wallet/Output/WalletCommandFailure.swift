import ArgumentParser
internal import Phone

/// An error that ends a command, with a message for the user and an exit status.
struct WalletCommandFailure: Error {
    var status: WalletExitStatus
    var message: String

    init(status: WalletExitStatus, message: String) {
        self.status = status
        self.message = message
    }

    /// Converts an error thrown by a command.
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
