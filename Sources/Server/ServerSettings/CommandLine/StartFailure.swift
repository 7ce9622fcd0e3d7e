package import ArgumentParser
internal import ConfigText
internal import HostSystem

/// The reason a server command failed.
///
/// Shown to the operator unchanged.
package struct StartFailure: Error, CustomStringConvertible {
    /// The kind of problem.
    ///
    /// Its raw value is the exit status (sysexits.h).
    package enum Kind: Int32, Sendable, CaseIterable {
        /// Not an error: the command found nothing, or the operator cancelled it.
        case notDone = 1
        /// EX_USAGE: the arguments are wrong.
        case usage = 64
        /// EX_DATAERR: a file has the wrong contents.
        case data = 65
        /// EX_NOUSER: the wallet does not exist.
        case unknownWallet = 67
        /// EX_UNAVAILABLE: the server does not answer, or another process is using its files.
        case unavailable = 69
        /// EX_SOFTWARE: the server found its own data damaged.
        case damaged = 70
        /// EX_IOERR: a problem with files, folders or the disk.
        case files = 74
        /// EX_PROTOCOL: the versions of the server and the program differ.
        case `protocol` = 76
        /// EX_NOPERM: not permitted on this server or for this user.
        case notAllowed = 77
        /// EX_CONFIG: a problem with settings, certificates or keys.
        case configuration = 78
        /// The store or the audit log is damaged, older than it was, or lost a write.
        ///
        /// An operator must act before the next start. This status is not in sysexits.h. The systemd unit does not
        /// restart the server after it.
        case operatorMustAct = 79
        /// The recovery code is denied, but no wallet is linked to it.
        ///
        /// The operator should compare the code with the issuer's. This status is not in sysexits.h.
        case noLinkedWallet = 80
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Prints the failure to standard error and returns its exit status.
    package func end() -> ExitCode {
        StandardStreams.writeError("remote-pin-server: \(self.description)\n")
        return ExitCode(self.kind.rawValue)
    }
}

/// Runs a command.
///
/// Turns a ``StartFailure`` into a message on standard error and an exit status.
package func ending(_ command: () async throws -> Void) async throws {
    do {
        try await command()
    } catch let failure as StartFailure {
        throw failure.end()
    }
}

/// Runs `body` and converts any error to a ``StartFailure`` that begins with `what`.
package func explaining<Result>(
    _ kind: StartFailure.Kind,
    _ what: String = "",
    _ body: () throws -> Result
) throws -> Result {
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

/// A problem with the server's files or machine, with the operator's next step.
package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    package let text: String
    package let cure: String

    package init(_ text: String, cure: String) {
        self.text = text
        self.cure = cure
    }

    package var description: String { "\(self.text): \(self.cure)" }
}
