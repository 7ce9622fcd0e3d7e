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

    @Option(help: ArgumentHelp("Read the code from the first line of a file.", valueName: "file"), completion: .file())
    var codeFile: String?

    /// Whether no source was given, so that the operator would be prompted.
    var isEmpty: Bool { self.code == nil && self.codeFd == nil && self.codeFile == nil }

    func validate() throws {
        guard [self.code != nil, self.codeFd != nil, self.codeFile != nil].filter(\.self).count <= 1 else {
            throw ValidationError("Give the code once: as an argument, with --code-fd or with --code-file.")
        }
    }

    /// Reads the code, prompting the operator if necessary.
    func read() throws -> RecoveryCode {
        let bytes: [UInt8]
        if let code {
            bytes = Array(code.utf8)
        } else if let codeFile {
            let content = try explaining(.files) { try DurableFile.read(codeFile, atMost: 4096) }
            bytes = Array(content.prefix { $0 != 0x0A })
        } else {
            bytes = try self.line()
        }
        guard let code = RecoveryCode(bytes) else {
            let allowed = RecoveryCode.allowedByteCounts
            throw StartFailure(.usage, "a recovery code has \(allowed.lowerBound) … \(allowed.upperBound) bytes")
        }
        return code
    }

    private func line() throws -> [UInt8] {
        // Read one byte more than the longest code, so that a line that is too long is rejected instead of truncated.
        let most = RecoveryCode.allowedByteCounts.upperBound + 1
        func copy(_ line: RawSpan) -> [UInt8] {
            (0..<line.byteCount).map { line.byte(at: $0) }
        }
        do throws(InputError) {
            if let codeFd { return try LineInput.withLine(from: codeFd, atMost: most, copy) }
            return try Terminal.withHiddenLine(prompt: "Recovery code: ", atMost: most, copy)
        } catch {
            switch error {
            case .notATerminal:
                throw StartFailure(
                    .usage,
                    "a recovery code is needed and there is no terminal to ask at: use --code-fd 0 or --code-file FILE"
                )
            case .tooLong: throw StartFailure(.usage, "a recovery code has at most \(most - 1) bytes")
            case .ended, .interrupted: throw StartFailure(.notDone, "no code was entered; nothing was done")
            case .failed: throw StartFailure(.usage, "the code cannot be read")
            }
        }
    }
}
