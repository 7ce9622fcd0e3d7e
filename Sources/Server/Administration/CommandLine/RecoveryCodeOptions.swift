internal import ArgumentParser
internal import HostSystem
internal import Secrets
internal import ServerCommandLine
internal import Vocabulary

/// Options for the source of a recovery code: a prompt, a file descriptor, a file, or the command line.
///
/// A code identifies a person, and any process on the machine can read other processes' arguments. Passing a code as an
/// argument is therefore only meant for test codes.
struct RecoveryCodeOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The code; the default is to ask for it. Every process of this machine can read an argument.",
            valueName: "code"
        )
    )
    var code: String?

    @Option(
        help: ArgumentHelp("Read the code from a line of this descriptor; 0 is standard input.", valueName: "number")
    )
    var codeFd: Int32?

    @Option(help: ArgumentHelp("Read the code from a file with one line.", valueName: "file"), completion: .file())
    var codeFile: String?

    /// Whether no source was given, so that the operator would be prompted.
    var isEmpty: Bool { self.code == nil && self.codeFd == nil && self.codeFile == nil }

    func validate() throws {
        guard [self.code != nil, self.codeFd != nil, self.codeFile != nil].filter(\.self).count <= 1 else {
            throw ValidationError("Give the code once: as an argument, with --code-fd or with --code-file.")
        }
    }

    /// Reads the code, prompting the operator if necessary.
    ///
    /// All sources are read in the same way. Otherwise, a line end that belongs to the file would make another code,
    /// and the command would revoke no wallet.
    func read() throws -> RecoveryCode {
        let input: [UInt8]
        if let code {
            input = Array(code.utf8)
        } else if let codeFile {
            input = try explaining(.files) { try InputFile.read(codeFile, atMost: Self.longestInput) }
        } else {
            input = try self.line()
        }
        return try mapError(RecoveryCode(reading: input)) { (problem: SecretTextProblem) in
            StartFailure(.usage, "the recovery code \(problem)")
        }
    }

    /// Room for blanks around the longest code.
    private static let longestInput = 4096

    private func line() throws -> [UInt8] {
        func copy(_ line: RawSpan) -> [UInt8] {
            (0..<line.byteCount).map { line.byte(at: $0) }
        }
        do throws(InputError) {
            if let codeFd { return try LineInput.withTextLine(from: codeFd, atMost: Self.longestInput, copy) }
            return try Terminal.withHiddenLine(prompt: "Recovery code: ", atMost: Self.longestInput, copy)
        } catch {
            switch error {
            case .notATerminal:
                throw StartFailure(
                    .usage,
                    "a recovery code is needed and there is no terminal to ask at: use --code-fd 0 or --code-file FILE"
                )
            case .tooLong: throw StartFailure(.usage, "the code's line is longer than \(Self.longestInput) bytes")
            case .ended where self.codeFd != nil:
                throw StartFailure(.usage, "the descriptor of --code-fd has no recovery code; nothing was done")
            case .ended, .interrupted: throw StartFailure(.notDone, "no code was entered; nothing was done")
            case .failed: throw StartFailure(.usage, "the code cannot be read")
            }
        }
    }
}
