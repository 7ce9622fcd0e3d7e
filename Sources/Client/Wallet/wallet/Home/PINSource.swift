internal import Foundation
internal import HostSystem
internal import Phone
internal import WalletFlows

/// Where a command's PINs come from: a prompt, a descriptor or a file, one a line.
///
/// Never an option: what a process is given as arguments, every other process of the machine may read.
final class PINSource {
    private enum Origin {
        case prompt
        case descriptor(Int32)
        case file(FileHandle)
    }

    private let origin: Origin
    /// The PIN that was read last, for where it is asked for again.
    private var last: PINInput?

    /// The longest line that is looked at; anything longer is no PIN.
    private static let longestLine = 256

    init(descriptor: Int32?, file: String?) throws(WalletCommandFailure) {
        switch (descriptor, file) {
        case (.some, .some):
            throw .usage("--pin-fd and --pin-file exclude each other")
        case (.some(let descriptor), nil):
            self.origin = .descriptor(descriptor)
        case (nil, .some(let path)):
            guard let handle = FileHandle(forReadingAtPath: path) else { throw .usage("\(path) cannot be read") }
            self.origin = .file(handle)
        case (nil, nil):
            self.origin = .prompt
        }
    }

    /// The next PIN.
    func next(_ prompt: String) throws(WalletCommandFailure) -> PINInput {
        let input = try self.read(prompt)
        guard let input else { throw WalletCommandFailure(status: .cancelled, message: "the input ended before a PIN") }
        self.last = input
        return input
    }

    /// The PIN once more: asked for at a terminal; elsewhere the next line, or the same one where there is none.
    func again(_ prompt: String) throws(WalletCommandFailure) -> PINInput {
        if let input = try self.read(prompt) { return input }
        guard let last = self.last else { return .malformed(.sixCharacters) }
        return last.enteredAgain()
    }

    /// Nil where the input has ended.
    private func read(_ prompt: String) throws(WalletCommandFailure) -> PINInput? {
        do throws(InputError) {
            switch self.origin {
            case .prompt:
                return try Terminal.withHiddenLine(prompt: prompt, atMost: Self.longestLine) { line in
                    PINInput(typed: line)
                }
            case .descriptor(let descriptor):
                return try LineInput.withLine(from: descriptor, atMost: Self.longestLine) { PINInput(typed: $0) }
            case .file(let handle):
                return try LineInput.withLine(from: handle.fileDescriptor, atMost: Self.longestLine) {
                    PINInput(typed: $0)
                }
            }
        } catch {
            switch error {
            case .ended: return nil
            case .tooLong: return .malformed(.sixCharacters)
            case .notATerminal:
                throw .usage("a PIN is needed and there is no terminal to ask at: use --pin-fd N or --pin-file FILE")
            case .interrupted: throw WalletCommandFailure(status: .cancelled, message: "interrupted")
            case .failed: throw .usage("the PIN cannot be read")
            }
        }
    }
}
