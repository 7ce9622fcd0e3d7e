internal import ArgumentParser
internal import Foundation
internal import HostSystem
internal import PKCS11
internal import ServerSettings
internal import Vocabulary

/// The daemon that computes with the vault's keys in a PKCS#11 module.
@main
struct KeysProgram: AsyncParsableCommand {
    static let name = "remote-pin-keys"
    static let configuration = CommandConfiguration(
        commandName: Self.name,
        abstract: "Keep the roots of the server's vault in a PKCS#11 module.",
        discussion: """
            The server derives each wallet's key from a root. With this daemon the root is in a hardware security \
            module or a token, and never in the server: the server sends a line over a Unix socket, and the module \
            computes an HMAC. It runs as a separate user, the only one who can read the token's PIN.

              remote-pin-keys make index   --module MODULE
              remote-pin-keys make key-1   --module MODULE
              remote-pin-keys check        --module MODULE
              remote-pin-keys serve        --module MODULE --group remote-pin

            MODULE is the path of the vendor's library, such as /usr/lib/softhsm/libsofthsm2.so. The token has the \
            label `remote-pin`, or that of --token. Its user PIN is in /etc/remote-pin-keys/pin, mode 0600.

            Losing the token's keys loses every wallet: make the module's own backup before a wallet registers.
            """,
        version: BuildID.text(of: Self.name),
        subcommands: [
            ServeCommand.self, MakeCommand.self, ImportCommand.self, ListCommand.self, CheckCommand.self,
        ]
    )

    static func main() async {
        CoreDumps.forbid()
        StandardStreams.prepare(statusOfLostOutput: StartFailure.Kind.files.rawValue)
        await Self.main(nil)
    }

    /// Runs a command with an initialized module, then ends the process.
    ///
    /// The exit handlers of modules crash beside those of libcrypto, so the process never runs them.
    static func ending(_ options: TokenOptions, _ command: (TokenModule) async throws -> Void) async -> Never {
        var status: Int32 = 0
        do {
            let module = try options.load()
            try await command(module)
            module.finalize()
        } catch {
            let failure = error as? StartFailure ?? StartFailure(.unavailable, "\(error)")
            StandardStreams.writeError("\(Self.name): \(failure)\n")
            status = failure.kind.rawValue
        }
        ProcessEnd.atOnce(status: status)
    }
}
