internal import AdminProtocol
internal import ArgumentParser
internal import HostSystem
package import Vocabulary

/// The option that selects the output format of a command.
package struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON object on one line, for programs.")
    var json = false

    package init() {}

    /// Prints a result as JSON with `--json`, otherwise as rendered by `draw`.
    ///
    /// - Parameter server: The server that the result comes from, if several servers share its store.
    package func print(_ value: some Encodable, from server: String? = nil, draw: (inout Page) -> Void) {
        guard self.json else {
            var page = Page()
            draw(&page)
            if let server { page.line("answered by the server \(server)") }
            StandardStreams.writeOutput(page.text)
            return
        }
        let answer = NamedAnswer(value: value, server: server)
        StandardStreams.writeOutput(String(decoding: AdminCoding.encode(answer), as: UTF8.self) + "\n")
    }
}

/// A JSON object with the name of the server that it comes from.
private struct NamedAnswer<Value: Encodable>: Encodable {
    let value: Value
    let server: String?

    private enum CodingKeys: CodingKey { case server }

    func encode(to encoder: any Encoder) throws {
        try self.value.encode(to: encoder)
        guard let server else { return }
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(server, forKey: .server)
    }
}

/// Parses a wallet id from an argument.
package func walletID(_ text: String) throws -> WalletID {
    guard let id = WalletID(hex: text) else {
        throw ValidationError("`\(text)` is not a wallet id: 32 hexadecimal digits, as in the server's log.")
    }
    return id
}

/// Parses a time from an argument.
package func time(_ text: String) throws -> Timestamp {
    guard let time = Timestamp(text: text) else {
        throw ValidationError("`\(text)` is not a time; write 2026-12-24 or 2026-12-24T18:00:00Z.")
    }
    return time
}
