import ArgumentParser
internal import HostSystem

/// How a command ended; its number is the process's exit code and never changes its meaning.
enum ExitStatus: Int32 {
    case done = 0
    /// The command line, or a file that it names, is not what it should be.
    case usage = 1
    /// The server cannot be reached, is not trusted, or refuses.
    case unavailable = 69
    /// A file or the machine failed.
    case failed = 70
    /// Another process works with the wallets.
    case inUse = 75
    /// A threshold was not met, or the server broke a promise.
    case broken = 99
    /// A signal ended it, in order.
    case interrupted = 130

    var exitCode: ExitCode { ExitCode(self.rawValue) }
}

/// A command cannot go on: what to tell the person, and how it ends.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// Runs a command's body, and tells what keeps it from going on.
func ending(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let failure as CommandFailure {
        StandardStreams.writeError("pin-load: \(failure.message)\n")
        throw failure.status.exitCode
    }
}
