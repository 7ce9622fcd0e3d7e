internal import ArgumentParser
internal import ConfigText
internal import ServerSettings
internal import HostSystem

/// Why the program ends without having done what it was asked; shown to the operator as it is.
struct StartFailure: Error, CustomStringConvertible {
    /// What kind of thing is to be mended; decides the exit status (sysexits.h).
    enum Kind: Int32 {
        /// Nothing is wrong: what was looked for is not there, or the operator did not want it after all.
        case notDone = 1
        /// EX_USAGE: the command has to be given otherwise.
        case usage = 64
        /// EX_DATAERR: a file that holds something else than it should.
        case data = 65
        /// EX_NOUSER: there is no such wallet.
        case unknownWallet = 67
        /// EX_UNAVAILABLE: another process, or the running server, is in the way.
        case unavailable = 69
        /// EX_SOFTWARE: the server found its own data damaged.
        case damaged = 70
        /// EX_IOERR: files, folders, the disk.
        case files = 74
        /// EX_PROTOCOL: server and program are of different versions.
        case `protocol` = 76
        /// EX_NOPERM: not by this server.
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

    /// Says it on standard error and ends the command with the kind's exit status.
    func end() -> ExitCode {
        StandardStreams.writeError("remote-pin-server: \(self.description)\n")
        return ExitCode(self.kind.rawValue)
    }
}

/// Runs a command, and ends the program with the status of what went wrong.
func ending(_ command: () async throws -> Void) async throws {
    do {
        try await command()
    } catch let failure as StartFailure {
        throw failure.end()
    }
}

/// Does something, and names what was to be done where it fails.
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
