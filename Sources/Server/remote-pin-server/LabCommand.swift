internal import ArgumentParser
internal import Lab
internal import HostSystem

/// What is done with labs.
struct LabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lab",
        abstract: "Serve a lab for manual play.",
        subcommands: [Up.self]
    )

    /// Serves a lab, and makes it first where there is none.
    struct Up: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "up",
            abstract: "Serve the lab in a folder; make it first where there is none."
        )

        @Argument(help: ArgumentHelp("The lab's folder.", valueName: "dir"), completion: .directory)
        var folder: String

        @Flag(help: "Stop once standard input ends: for a program that starts this one and may be killed.")
        var followInput = false

        func run() async throws {
            if self.followInput { ProcessEnd.followsInput() }
            try await ending {
                let lab = LabFolder(ConfigurationOptions.absolute(self.folder))
                if !lab.isLab { try await LabLayout(lab).make() }
                StandardStreams.writeOutput(
                    """
                    a lab for tests; in another terminal:
                      wallet app --lab \(lab.path)
                      remote-pin-server admin clock advance 61s --lab \(lab.path)
                    its log: \(lab.logFile)

                    """
                )
                try await RunningServer.run(try ConfigurationOptions.settings(of: lab.path))
            }
        }
    }
}
