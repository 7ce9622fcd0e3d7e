internal import Glibc

/// Files that a user names for the output of a program.
package enum OutputFile {
    /// Replaces the contents of a file, or creates it.
    ///
    /// A regular file is replaced atomically (``DurableFile/write(_:to:mode:)``). Any other file keeps its name and
    /// kind, as with a shell's `>`: the bytes are written through a symbolic link, and into a pipe or a device. A
    /// rename would replace the link or, for root, the machine's device node.
    ///
    /// - Parameter mode: The permissions of a new or replaced regular file.
    package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o644) throws(FileError) {
        var named = stat()
        guard unsafe lstat(path, &named) == 0, named.st_mode & S_IFMT != S_IFREG else {
            return try DurableFile.write(bytes, to: path, mode: mode)
        }
        // A second open description of the same file would write over the other output of the process.
        guard !Self.isStandardOutput(path) else {
            StandardStreams.writeOutput(String(decoding: bytes, as: UTF8.self))
            return
        }
        try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, mode: mode).write(bytes)
    }

    /// Opens a file of any kind for appending, or creates it; the caller closes the returned descriptor.
    package static func openForAppending(_ path: String, mode: UInt32) throws(FileError) -> Int32 {
        try SystemCall.retrying(path) {
            unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC, mode)
        }
    }

    /// Returns true if the path leads to the file, pipe or terminal that is the standard output, as `/dev/stdout` does.
    private static func isStandardOutput(_ path: String) -> Bool {
        var (file, output) = (stat(), stat())
        guard unsafe stat(path, &file) == 0, unsafe fstat(STDOUT_FILENO, &output) == 0 else { return false }
        return file.st_dev == output.st_dev && file.st_ino == output.st_ino
    }
}
