import ArgumentParser
internal import Phone

/// A command cannot go on: one sentence for the person, and how it ends.
struct WalletCommandFailure: Error {
    var status: WalletExitStatus
    var message: String

    init(status: WalletExitStatus, message: String) {
        self.status = status
        self.message = message
    }

    init(_ error: PhoneError) {
        self.init(status: error.exitStatus, message: error.description)
    }

    static func usage(_ message: String) -> WalletCommandFailure {
        WalletCommandFailure(status: .usage, message: message)
    }
    static func failed(_ message: String) -> WalletCommandFailure {
        WalletCommandFailure(status: .failed, message: message)
    }
}

extension WalletExitStatus {
    var exitCode: ExitCode { ExitCode(self.rawValue) }
}
