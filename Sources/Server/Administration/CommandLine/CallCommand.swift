internal import AdminProtocol
internal import ArgumentParser
internal import ServerCommandLine

/// A command of the command line that makes one call to a running server and prints the reply.
///
/// `--json` prints the reply as it is; ``draw(_:on:)`` renders it for people.
protocol CallCommand: AsyncParsableCommand {
    associatedtype Call: AdminCall

    var options: CallOptions { get }

    /// Returns the call that the arguments describe; asks the operator if input or a confirmation
    /// is missing.
    func call() throws -> Call
    /// Makes the call, and others if one is not enough.
    func reply(to call: Call, from server: OperatorConnection) async throws -> Call.Reply
    func draw(_ reply: Call.Reply, on page: inout Page)
    /// The exit status after the reply is printed; nil for 0.
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
            let reply = try await self.options.server.connected { try await self.reply(to: call, from: $0) }
            self.options.output.print(reply) { self.draw(reply, on: &$0) }
            if let status = self.exitStatus(after: reply) { throw ExitCode(status.rawValue) }
        }
    }
}

/// The options of every command to a running server.
struct CallOptions: ParsableArguments {
    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions
}

/// Reads one of a type's names from an argument.
func choice<Value: RawRepresentable<String> & CaseIterable>(_ text: String, _ what: String) throws -> Value {
    guard let value = Value(rawValue: text) else {
        let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("`\(text)` is not a \(what); use one of: \(known).")
    }
    return value
}
