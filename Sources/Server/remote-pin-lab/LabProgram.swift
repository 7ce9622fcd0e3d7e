internal import ArgumentParser
internal import Foundation
internal import HostSystem
internal import LabFiles

/// The lab program, which creates a test server with a test authority and starts it.
@main
struct LabProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote-pin-lab",
        abstract: "Create and serve labs: test servers with a test authority and a movable clock.",
        discussion: """
            A lab is never a production server: the private keys of its authority are files in its folder. \
            `remote-pin-server lab …` and `remote-pin-server init --lab` run this program, which is separate so that \
            the production server does not contain the authority.

              remote-pin-lab up /tmp/lab
            """,
        version: BuildID.text(of: "remote-pin-lab"),
        subcommands: [LabInitCommand.self, LabUpCommand.self, CheckManifestCommand.self]
    )

    /// EX_IOERR in sysexits.h.
    private static let fileStatus: Int32 = 74

    static func main() async {
        CoreDumps.forbid()
        StandardStreams.prepare(statusOfLostOutput: Self.fileStatus)
        await Self.main(nil)
    }

    /// Runs a command.
    ///
    /// If it fails without a status of its own, prints the reason and exits with status 74.
    static func reporting(_ command: () async throws -> Void) async throws {
        do {
            try await command()
        } catch let status as ExitCode {
            throw status
        } catch {
            StandardStreams.writeError("remote-pin-lab: \(error)\n")
            throw ExitCode(Self.fileStatus)
        }
    }
}

/// The folder argument shared by the lab commands.
struct LabArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The lab's folder.", valueName: "dir"), completion: .directory)
    var folder: String

    var lab: LabFolder { LabFolder(URL(fileURLWithPath: self.folder).standardizedFileURL.path) }
}

/// Creates a lab.
struct LabInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a lab; existing files are never overwritten."
    )

    @OptionGroup var argument: LabArgument

    func run() async throws {
        try await LabProgram.reporting {
            let lab = self.argument.lab
            try await NewLab(lab).create()
            StandardStreams.writeOutput(
                """
                created the lab \(lab.path)
                  serve it: remote-pin-server lab up \(lab.path)

                """
            )
        }
    }
}

/// Serves a lab.
///
/// If the folder contains none, creates it first.
struct LabUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Serve the lab in a folder; create it first if the folder has none."
    )

    /// The server program, which serves both labs and production.
    private static let server = "remote-pin-server"

    @OptionGroup var argument: LabArgument

    @Flag(help: "Stop when standard input ends; for a parent process that may be killed.")
    var followInput = false

    func run() async throws {
        try await LabProgram.reporting {
            // A service must not wait until something reads its output.
            StandardStreams.queueAll()
            let lab = self.argument.lab
            if !lab.isLab { try await NewLab(lab).create() }
            StandardStreams.writeOutput(
                """
                a lab for tests; in another terminal:
                  wallet app --lab \(lab.path) --home phone
                  remote-pin-server admin clock advance 61s --lab \(lab.path)
                its log: \(lab.logFile)

                """
            )
            let path = try OtherProgram.path(besideThisOne: Self.server)
            let arguments = ["serve", lab.path] + (self.followInput ? ["--follow-input"] : [])
            throw ServerNotStarted(reason: OtherProgram.become(path, arguments: arguments))
        }
    }

    private struct ServerNotStarted: Error, CustomStringConvertible {
        let reason: FileError

        var description: String {
            "cannot start the server: \(self.reason); install `remote-pin-server` in the folder of `remote-pin-lab`"
        }
    }
}
