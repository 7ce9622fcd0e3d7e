internal import ArgumentParser
internal import ConfigText
internal import ServerSettings
internal import HostSystem

/// The reason why the program ends without having completed a command; shown to the operator unchanged.
struct StartFailure: Error, CustomStringConvertible {
    /// The kind of failure, which determines the exit status (sysexits.h).
    enum Kind: Int32 {
        /// No error: the result is negative, or the operator declined.
        case notDone = 1
        /// EX_USAGE: the arguments are wrong.
        case usage = 64
        /// EX_DATAERR: a file has wrong contents.
        case data = 65
        /// EX_NOUSER: no such wallet.
        case unknownWallet = 67
        /// EX_UNAVAILABLE: another process or the running server prevents it, or a needed one cannot be reached.
        case unavailable = 69
        /// EX_SOFTWARE: the server's own data is damaged.
        case damaged = 70
        /// EX_IOERR: files, folders, the disk.
        case files = 74
        /// EX_PROTOCOL: server and program have different versions.
        case `protocol` = 76
        /// EX_NOPERM: the server does not permit it.
        case notAllowed = 77
        /// EX_CONFIG: settings, certificates, keys.
        case configuration = 78
    }

    let kind: Kind
    let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Prints the message on standard error and returns the kind's exit status.
    func end() -> ExitCode {
        StandardStreams.writeError("remote-pin-server: \(self.description)\n")
        return ExitCode(self.kind.rawValue)
    }
}

/// Runs a command; on failure, prints the message and ends with its exit status.
func ending(_ command: () async throws -> Void) async throws {
    do {
        try await command()
    } catch let failure as StartFailure {
        throw failure.end()
    }
}

/// Runs `body`; on failure, throws a ``StartFailure`` whose message begins with `what`.
func explaining<Result>(_ kind: StartFailure.Kind, _ what: String = "", _ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let failure as StartFailure {
        throw failure
    } catch let error as ConfigError {
        throw StartFailure(kind, "\(what):\n\(error)")
    } catch {
        throw StartFailure(kind, what.isEmpty ? "\(error)" : "\(what): \(error)")
    }
}
