internal import ArgumentParser
internal import Foundation
internal import HostSystem
internal import ServerSettings
internal import Statements
internal import Vault
internal import Vocabulary

/// `admin receipts`: verifies receipts and shows the keys that sign them.
struct AdminReceipts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipts",
        abstract: "Verify receipts of PIN attempts, and show the public keys that sign them.",
        discussion: "These two commands need no running server; `verify` reads no file of one.",
        subcommands: [Verify.self, Keys.self]
    )

    /// Verifies a set of receipts offline.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Verify a set of receipts without a server; exit status 65 if one is wrong or two contradict.",
            discussion: """
                Reads lines of JSON: objects with a `receipt` (hexadecimal), as a wallet keeps its last one, or with \
                a `signedRoot`, as in the server's log with `log.format: json`. Other lines are skipped. Besides \
                each signature and path it verifies that a wallet's numbers grow with time and that no epoch signs \
                after a later one.

                  jq -c '{receipt: .last}' phone/app/receipts.json | \\
                    remote-pin-server admin receipts verify --key 1:04ab…
                  remote-pin-server admin receipts verify --key 1:04ab… --key 2:0417… \\
                    receipts.jsonl server.log
                """
        )

        @Option(
            name: .customLong("key"),
            help: ArgumentHelp("A public key and its id, as `receipts keys` shows them.", valueName: "id:key"),
            transform: { text in
                let parts = text.split(separator: ":")
                guard parts.count == 2, let id = UInt32(parts[0]), let key = P256PublicKey(hex: String(parts[1])) else {
                    throw ValidationError("`\(text)` is not a key: ID:PUBLICKEY, as `admin receipts keys` shows it.")
                }
                return ReceiptKey(id: id, publicKey: key)
            }
        )
        var keys: [ReceiptKey] = []

        @Argument(help: "Files with lines of JSON; standard input without any.", completion: .file())
        var files: [String] = []

        @OptionGroup var output: OutputOptions

        /// The size limit for the input, in bytes.
        private static let inputLimit = 1 << 28

        func validate() throws {
            guard !self.keys.isEmpty else {
                throw ValidationError("Name the public key with --key; `admin receipts keys` shows it.")
            }
        }

        func run() async throws {
            try await ending {
                var set = ReceiptSet(keys: self.keys)
                var malformed: [Int] = []
                for (index, line) in try self.lines().enumerated() {
                    switch Line(line) {
                    case .receipt(let receipt): set.add(receipt, line: index + 1)
                    case .root(let root): set.add(root, line: index + 1)
                    case .malformed: malformed.append(index + 1)
                    case .other: continue
                    }
                }
                // Otherwise, an input in another format would pass as genuine.
                guard set.receiptCount + set.rootCount + malformed.count > 0 else {
                    throw StartFailure(.data, "the input has no receipt and no signed root; nothing was verified")
                }
                let problems =
                    set.problems().map { (line: $0.line, text: $0.problem.text) }
                    + malformed.map { (line: $0, text: "not a receipt: a length or a value is invalid") }
                let json: JSONObject = [
                    "genuine": problems.isEmpty,
                    "receipts": set.receiptCount,
                    "roots": set.rootCount,
                    "problems": problems.map { line, text -> JSONObject in ["line": line, "problem": text] },
                ]
                self.output.print(json) { page in
                    for (line, text) in problems { page.line("line \(line): " + page.bad(text)) }
                    let counts = "\(set.receiptCount) receipts and \(set.rootCount) roots are genuine"
                    page.line(problems.isEmpty ? page.good(counts) : counts)
                }
                if !problems.isEmpty { throw ExitCode(StartFailure.Kind.data.rawValue) }
            }
        }

        /// Reads the lines of all files, or of standard input if there are none.
        private func lines() throws -> [ArraySlice<UInt8>] {
            var bytes: [UInt8] = []
            if self.files.isEmpty {
                bytes = [UInt8](FileHandle.standardInput.readDataToEndOfFile())
            }
            for file in self.files {
                bytes += try explaining(.files) { try InputFile.read(file, atMost: Self.inputLimit) } + [0x0A]
            }
            return bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        }
    }

    /// Shows the public keys that sign receipts.
    struct Keys: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "keys",
            abstract: "Show the public keys that sign receipts, the present one last.",
            discussion: """
                Reads the vault's key file, as its owner. Publish the keys for those who verify receipts.

                  remote-pin-server admin receipts keys --lab /tmp/lab
                """
        )

        @OptionGroup var server: StoppedServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                let settings = try self.server.loaded().settings
                let vault = try await KeyFileVault.open(settings)
                let keys = (vault.receiptKeys(upTo: nil) ?? []).map { "\($0.key.id):\($0.key.publicKey)" }
                self.output.print(["keys": keys]) { page in
                    for key in keys { page.line(key) }
                }
            }
        }
    }
}

/// An input line.
private enum Line {
    case receipt(Receipt)
    case root(SignedRoot)
    case malformed
    /// Any other line.
    case other

    private struct Fields: Decodable {
        let receipt: String?
        let signedRoot: String?
    }

    init(_ line: ArraySlice<UInt8>) {
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(line)) else {
            self = .other
            return
        }
        switch (fields.receipt, fields.signedRoot) {
        case (let hex?, _): self = [UInt8](hex: hex).flatMap { Receipt($0) }.map(Line.receipt) ?? .malformed
        case (nil, let hex?):
            self = [UInt8](hex: hex).flatMap { SignedRoot(decoding: $0[...]) }.map(Line.root) ?? .malformed
        case (nil, nil): self = .other
        }
    }
}

extension ReceiptSet.Problem {
    fileprivate var text: String {
        switch self {
        case .notGenuine: "no key given with --key signed it, or its path leads to another root"
        case .sameNumber(let line): "line \(line) has another attempt with this number"
        case .beforeSmaller(let line): "line \(line) has a smaller number and a later time"
        case .epochEnded(let line): "its epoch had ended: line \(line) is earlier and of a later epoch"
        }
    }
}
