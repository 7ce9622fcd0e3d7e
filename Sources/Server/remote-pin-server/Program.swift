internal import Administration
internal import ArgumentParser
internal import ServerSettings
internal import HostSystem

/// The server program, which creates, checks, runs and administers a remote-PIN server.
@main
struct Program {
    static func main() async {
        CoreDumps.forbid()
        StandardStreams.prepare(statusOfLostOutput: StartFailure.Kind.files.rawValue)
        let arguments = Array(CommandLine.arguments.dropFirst())
        await ServerCommand.main(SettingFlags.rewritten(arguments, for: Self.commandsWithSettings))
    }

    /// The commands that have ``ConfigurationOptions``, or whose subcommands do.
    private static var commandsWithSettings: [String] {
        let commands: [any ParsableCommand.Type] = [
            ServeCommand.self, ConfigCommand.self, CheckConfigCommand.self, DoctorCommand.self, StoreCommand.self,
        ]
        return commands.compactMap { $0.configuration.commandName }
    }
}

/// The root command.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote-pin-server",
        abstract: "A server that checks wallet PINs and keeps the shares without which a wallet cannot be opened.",
        discussion: """
            To try it out, serve a lab, which the first use creates:

              remote-pin-server lab up /tmp/lab

            For production, create a folder, edit its configuration, check it and serve it:

              remote-pin-server init /srv/remote-pin
              remote-pin-server check-config /srv/remote-pin
              remote-pin-server serve /srv/remote-pin

            `remote-pin-server help serve` lists every setting.
            """,
        version: Version.text,
        subcommands: [
            InitCommand.self, ServeCommand.self, LabCommand.self, ConfigCommand.self, CheckConfigCommand.self,
            DoctorCommand.self, SettingsCommand.self, CheckAttestationCommand.self, MetricsCommand.self,
            AdminCommand.self,
            PortalCommand.self, StoreCommand.self, BackupCommand.self, RestoreCommand.self, AdminCalls.vault,
        ]
    )
}

/// The program's version.
enum Version {
    /// The version shared by all programs in this project.
    static let number = BuildID.version
    static let text = BuildID.text(of: "remote-pin-server")
}
