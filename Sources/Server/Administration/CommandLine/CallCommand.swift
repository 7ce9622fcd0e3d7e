public import ArgumentParser
internal import ServerSettings
public import Vocabulary

/// A command-line command that makes one call to a running server and prints the reply.
///
/// With `--json`, the reply is printed unchanged. Otherwise, ``draw(_:on:)`` formats it for people. If several servers
/// share a store, the output names the server.
protocol CallCommand: AsyncParsableCommand {
    associatedtype Call: AdminCall

    var options: CallOptions { get }

    /// Returns the call described by the arguments.
    ///
    /// Prompts the operator for missing input or confirmation.
    func call() throws -> Call
    /// Makes the call, followed by further calls if one is not enough.
    func reply(to call: Call, from server: OperatorConnection) async throws -> Call.Reply
    func draw(_ reply: Call.Reply, on page: inout Page)
    /// The exit status after the reply has been printed, or nil for 0.
    func exitStatus(after reply: Call.Reply) -> StartFailure.Kind?
}

extension CallCommand {
    func reply(to call: Call, from server: OperatorConnection) async throws -> Call.Reply {
        try await server.call(call)
    }

    func exitStatus(after reply: Call.Reply) -> StartFailure.Kind? { nil }

    func run() async throws {
        try await ending {
            let call = try self.call()
            let (reply, server) = try await self.options.server.connected { connection in
                (try await self.reply(to: call, from: connection), connection.server)
            }
            self.options.output.print(reply, from: server) { self.draw(reply, on: &$0) }
            if let status = self.exitStatus(after: reply) { throw ExitCode(status.rawValue) }
        }
    }
}

/// Options common to all commands that call a running server.
struct CallOptions: ParsableArguments {
    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions
}

extension FeatureFlag: ExpressibleByArgument {}
extension LogLevel: ExpressibleByArgument {}
extension Platform: ExpressibleByArgument {}
extension WalletCondition: ExpressibleByArgument {}
