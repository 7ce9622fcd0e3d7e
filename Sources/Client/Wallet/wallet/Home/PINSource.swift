internal import Foundation
internal import HostSystem
internal import SimulatedPhone
internal import Vocabulary
internal import WalletFlows

/// The source of the PINs for a command: a prompt, a file descriptor, or a file with one PIN per line.
///
/// PINs cannot be given as an option, because other processes can read a process's arguments.
final class PINSource {
    private enum Origin {
        case prompt
        case descriptor(Int32)
        case file(FileHandle)
    }

    private let origin: Origin
    /// The last PIN, in case it has to be repeated.
    private var last: PINInput?

    /// The maximum length of a line in bytes.
    ///
    /// Longer lines are not PINs.
    private static let longestLine = 256

    init(descriptor: Int32?, file: String?) throws {
        switch (descriptor, file) {
        case (.some, .some): throw WalletCommandFailure.usage("--pin-fd and --pin-file cannot be combined")
        case (.some(let descriptor), nil): self.origin = .descriptor(descriptor)
        case (nil, .some(let path)):
            guard let handle = FileHandle(forReadingAtPath: path) else {
                throw WalletCommandFailure.usage("\(path) cannot be read")
            }
            self.origin = .file(handle)
        case (nil, nil): self.origin = .prompt
        }
    }

    /// Reads the next PIN.
    func next(_ prompt: String) throws -> PINInput {
        let input = try self.read(prompt)
        guard let input else {
            throw WalletCommandFailure(status: .cancelled, message: "the input ended before the PIN")
        }
        self.last = input
        return input
    }

    /// Reads the PIN again, from the prompt or the next line; returns the last PIN if the input has ended.
    func again(_ prompt: String) throws -> PINInput {
        if let input = try self.read(prompt) { return input }
        guard let last = self.last else { return .malformed(.sixCharacters) }
        return last.enteredAgain()
    }

    /// Returns nil at the end of the input.
    private func read(_ prompt: String) throws -> PINInput? {
        let line = try self.line(prompt)
        do throws(SecretTextProblem) {
            return try line?.get()
        } catch .empty {
            return .malformed(.sixCharacters)
        } catch .character(let name, let place) {
            throw WalletCommandFailure.usage("the PIN has \(name) at byte \(place); only digits are accepted")
        } catch {
            throw WalletCommandFailure.usage("the PIN \(error)")
        }
    }

    /// Returns the input of the next line that is not blank, or nil at the end of the input.
    private func line(_ prompt: String) throws -> Result<PINInput, SecretTextProblem>? {
        func input(_ line: RawSpan) -> Result<PINInput, SecretTextProblem> {
            do throws(SecretTextProblem) { return .success(try PINInput(line: line)) } catch { return .failure(error) }
        }
        do {
            switch self.origin {
            case .prompt: return try Terminal.withHiddenLine(prompt: prompt, atMost: Self.longestLine, input)
            case .descriptor(let descriptor):
                return try LineInput.withTextLine(from: descriptor, atMost: Self.longestLine, input)
            case .file(let handle):
                return try LineInput.withTextLine(from: handle.fileDescriptor, atMost: Self.longestLine, input)
            }
        } catch {
            switch error {
            case .ended: return nil
            case .tooLong: return .success(.malformed(.sixCharacters))
            case .notATerminal:
                throw WalletCommandFailure.usage(
                    "a PIN is needed, but no terminal is available: use --pin-fd N or --pin-file FILE"
                )
            case .interrupted: throw WalletCommandFailure(status: .cancelled, message: "interrupted")
            case .failed: throw WalletCommandFailure.usage("the PIN cannot be read")
            }
        }
    }
}
