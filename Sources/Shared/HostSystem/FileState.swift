internal import Glibc

/// The file that a path leads to and the time of its last write, to notice that another program replaced or wrote it.
package struct FileState: Hashable, Sendable {
    private let device, inode: UInt64
    private let byteCount: Int64
    /// The time of the last write, in nanoseconds since 1970.
    private let written: Int64

    /// Reads the state without following a link.
    package init(of path: String) throws(FileError) {
        var status = stat()
        try SystemCall.retrying(path) { unsafe lstat(path, &status) }
        (self.device, self.inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        self.byteCount = Int64(status.st_size)
        self.written = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    /// Returns whether both are states of the same file.
    package func isOfSameFile(as other: FileState) -> Bool {
        self.device == other.device && self.inode == other.inode
    }
}
