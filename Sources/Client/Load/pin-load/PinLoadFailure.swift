import ArgumentParser
internal import HostSystem

/// The exit codes of pin-load.
///
/// Scripts rely on them, so their meaning never changes.
enum PinLoadStatus: Int32, CaseIterable {
    case done = 0
    /// The command line, or a file named in it, is invalid.
    case usage = 1
    /// The server is unreachable, not trusted, or rejected the request.
    case unavailable = 69
    /// A file or the machine failed.
    case failed = 70
    /// Another process is using the wallets.
    case inUse = 75
    /// A threshold is not met, or the server violated its protocol.
    case broken = 99
    /// The command was ended by a signal.
    case interrupted = 130

    var exitCode: ExitCode { ExitCode(self.rawValue) }
}

/// A failure that ends a command, with its message and exit code.
struct PinLoadFailure: Error {
    var status: PinLoadStatus
    var message: String

    init(_ status: PinLoadStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// Converts an error in the arguments, or in a file or server that they name.
    static func usage(_ error: any Error) -> PinLoadFailure { PinLoadFailure(.usage, "\(error)") }
}

/// Runs the body of a command and reports any ``PinLoadFailure`` to the user.
func reportingFailure(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let failure as PinLoadFailure {
        StandardStreams.writeError("pin-load: \(failure.message)\n")
        throw failure.status.exitCode
    }
}
