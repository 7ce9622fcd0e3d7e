internal import Glibc

/// The space on a file system that is available to this user.
package struct DiskSpace: Hashable, Sendable {
    package let freeByteCount: Int
    package let totalByteCount: Int
    /// False if no more files can be created even though there is space left.
    package let hasFileNumbers: Bool
    /// Whether the file system is mounted read-only, as after an error of its disk.
    package let isReadOnly: Bool

    /// Queries the file system that contains `path` (statvfs(3)).
    package init(of path: String) throws(FileError) {
        var status = statvfs()
        try SystemCall.retrying(path) { unsafe statvfs(path, &status) }
        let blockSize = Int(clamping: status.f_frsize)
        self.freeByteCount = Int(clamping: status.f_bavail) * blockSize
        self.totalByteCount = Int(clamping: status.f_blocks) * blockSize
        // Some file systems do not have a fixed number of files and report 0 out of 0.
        self.hasFileNumbers = status.f_files == 0 || status.f_favail > 0
        self.isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
    }
}
