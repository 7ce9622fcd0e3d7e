internal import ArgumentParser
internal import ServerSettings
internal import HostSystem

/// The server's program: makes, checks, serves and commands a remote-PIN server.
@main
struct Program {
    static func main() async {
        StandardStreams.ignoreBrokenPipes()
        await ServerCommand.main(SettingFlags.rewritten(Array(CommandLine.arguments.dropFirst())))
    }
}

/// The root of the command line.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote-pin-server",
        abstract: "A server that checks wallets' PINs and keeps the shares without which they stay closed.",
        discussion: """
            For a first look, make a lab and serve it:

              remote-pin-server init --lab /tmp/lab
              remote-pin-server lab up /tmp/lab

            For production, make a folder, edit the configuration in it, check it and serve it:

              remote-pin-server init /srv/remote-pin
              remote-pin-server check-config /srv/remote-pin
              remote-pin-server serve /srv/remote-pin

            `remote-pin-server help serve` lists every setting.
            """,
        version: Version.text,
        subcommands: [
            InitCommand.self, ServeCommand.self, LabCommand.self, CheckConfigCommand.self, SettingsCommand.self,
            CheckAttestationCommand.self, MetricsCommand.self, AdminCommand.self, PortalCommand.self,
        ]
    )
}

/// What the program says of itself.
enum Version {
    /// Raised with each release.
    static let number = "0.1.0"
    static let text = "remote-pin-server \(Self.number) (protocol remote-pin/1)"
}
