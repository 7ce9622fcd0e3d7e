import ArgumentParser
internal import Phone

/// A command cannot go on: one sentence for the person, and how it ends.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(status: ExitStatus, message: String) {
        self.status = status
        self.message = message
    }

    init(_ error: PhoneError) {
        self.init(status: error.exitStatus, message: error.description)
    }

    static func usage(_ message: String) -> CommandFailure { CommandFailure(status: .usage, message: message) }
    static func failed(_ message: String) -> CommandFailure { CommandFailure(status: .failed, message: message) }
}

extension ExitStatus {
    var exitCode: ExitCode { ExitCode(self.rawValue) }
}
