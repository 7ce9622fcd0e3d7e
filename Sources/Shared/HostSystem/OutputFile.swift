internal import Glibc

/// Reads input files that the user of a command names.
package enum InputFile {
    /// Reads an entire file of at most `limit` bytes, or a pipe until its end, such as a process substitution of a
    /// shell.
    ///
    /// Waits for the writer of a pipe, so a program that nobody watches must use ``DurableFile/read(_:atMost:)``.
    package static func read(_ path: String, atMost limit: Int) throws(FileError) -> [UInt8] {
        try Descriptor(opening: path, flags: O_RDONLY | O_NOCTTY).read(atMost: limit)
    }
}

/// Writes output files whose paths are given by the user.
package enum OutputFile {
    /// Replaces the contents of a file, creating it if necessary.
    ///
    /// A regular file is replaced atomically (see ``DurableFile/write(_:to:mode:)``). For anything else, this does the
    /// same as a shell's `>`: it follows symbolic links and writes to pipes and devices. Renaming would replace the
    /// link or, if we are root, the device node.
    ///
    /// - Parameter mode: The permissions of a new or replaced regular file.
    package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o644) throws(FileError) {
        var named = stat()
        guard unsafe lstat(path, &named) == 0, named.st_mode & S_IFMT != S_IFREG else {
            return try DurableFile.write(bytes, to: path, mode: mode)
        }
        // If we opened the same file again, we would overwrite other output from this process.
        guard !Self.isStandardOutput(path) else {
            StandardStreams.writeOutput(String(decoding: bytes, as: UTF8.self))
            return
        }
        guard named.st_mode & S_IFMT != S_IFIFO else { return try Self.write(bytes, toPipe: path) }
        try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, mode: mode).write(bytes)
    }

    /// Writes to a named pipe, and waits for its reader no longer than for that of standard output.
    static func write(
        _ bytes: [UInt8],
        toPipe path: String,
        _ limit: ReaderLimit = StandardStreams.readerLimit
    ) throws(FileError) {
        let deadline = limit.time.map { ContinuousClock.now + $0 }
        while true {
            do throws(FileError) {
                let pipe = try Descriptor(opening: path, flags: O_WRONLY | O_NONBLOCK | O_NOCTTY)
                guard let (code, _) = SystemCall.write(bytes, to: pipe.number, limit) else { return }
                throw .other(path, errno: code)
            } catch .other(_, errno: ENXIO) {
                // The pipe has no reader yet (fifo(7)).
                if let deadline, deadline <= .now { throw .other(path, errno: ETIMEDOUT) }
            }
            var end = pollfd(fd: limit.end, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&end, 1, 50) > 0 { throw .other(path, errno: ECANCELED) }
        }
    }

    /// Throws if a file cannot be written, so that a command can refuse it before it does its work.
    ///
    /// A pipe or a device is not opened.
    package static func check(_ path: String) throws(FileError) {
        guard !DurableFile.isFolder(path) else { throw .other(path, errno: EISDIR) }
        var named = stat()
        let isNamed = unsafe lstat(path, &named) == 0
        guard !isNamed || named.st_mode & S_IFMT == S_IFREG else { return }
        try self.check(folder: DurableFile.folder(of: path))
    }

    /// Throws if no file can be written to a folder.
    package static func check(folder: String) throws(FileError) {
        try SystemCall.retrying(folder) { unsafe access("\(folder)/.", W_OK | X_OK) }
    }

    /// Opens a file of any kind for appending, creating it if necessary.
    ///
    /// Never waits: a FIFO is opened for reading as well (fifo(7)), since open(2) would otherwise wait for a reader.
    /// The caller must close the returned descriptor.
    package static func openForAppending(_ path: String, mode: UInt32) throws(FileError) -> Int32 {
        var named = stat()
        let isPipe = unsafe stat(path, &named) == 0 && named.st_mode & S_IFMT == S_IFIFO
        let access = isPipe ? O_RDWR : O_WRONLY | O_CREAT
        return try SystemCall.retrying(path) { unsafe open(path, access | O_APPEND | O_NOCTTY | O_CLOEXEC, mode) }
    }

    /// Returns whether the path, for example `/dev/stdout`, refers to the same file, pipe or terminal as standard
    /// output.
    private static func isStandardOutput(_ path: String) -> Bool {
        var (file, output) = (stat(), stat())
        guard unsafe stat(path, &file) == 0, unsafe fstat(STDOUT_FILENO, &output) == 0 else { return false }
        return file.st_dev == output.st_dev && file.st_ino == output.st_ino
    }
}
