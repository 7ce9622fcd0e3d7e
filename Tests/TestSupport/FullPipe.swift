internal import Glibc

/// A named pipe that is full and that nothing reads, like the pipe of a log collector that hangs.
package final class FullPipe: Sendable {
    package let path: String
    private let descriptor: Int32
    private static let filler = UInt8(ascii: "x")

    package init(in folder: TemporaryFolder) {
        self.path = folder.file("pipe-\(UInt32.random(in: .min ... .max))")
        precondition(unsafe mkfifo(self.path, 0o600) == 0, "the folder can be written")
        // Open for both directions, so that it neither waits for the other end nor loses its contents.
        self.descriptor = unsafe open(self.path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        precondition(self.descriptor >= 0, "the pipe exists")
        var bytes = [UInt8](repeating: Self.filler, count: 4096)
        while unsafe write(self.descriptor, &bytes, bytes.count) > 0 {}
    }

    deinit { close(self.descriptor) }

    /// Returns what the pipe holds, without the text that filled it, and makes room.
    package func read() -> String {
        var (result, bytes): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = unsafe Glibc.read(self.descriptor, &bytes, bytes.count)
            guard count > 0 else { break }
            result += bytes[..<count]
        }
        return String(decoding: result.drop { $0 == Self.filler }, as: UTF8.self)
    }

    /// Reads until the pipe has delivered `word`, and returns the text until then.
    package func read(until word: String) async -> String {
        var text = ""
        while !text.contains(word), !Task.isCancelled {
            text += self.read()
            await Task.yield()
        }
        return text
    }
}
