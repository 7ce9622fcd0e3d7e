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
    package func print(_ value: some Encodable, draw: (inout Page) -> Void) {
        guard self.json else {
            var page = Page()
            draw(&page)
            StandardStreams.writeOutput(page.text)
            return
        }
        StandardStreams.writeOutput(String(decoding: AdminCoding.encode(value), as: UTF8.self) + "\n")
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
