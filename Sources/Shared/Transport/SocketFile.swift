internal import Glibc

/// The file of a Unix socket that this process listens on.
///
/// Only its own listener removes it: a file that another process has put in its place stays.
///
/// The socket must stay open as long as this object is used. Until then, the file system cannot give the inode to
/// another file.
final class SocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Creates an object for the socket that was just bound.
    ///
    /// Returns nil and leaves `errno` if the file is gone.
    init?(_ path: String) {
        guard let status = Self.status(of: path) else { return nil }
        (self.path, self.device, self.inode) = (path, status.st_dev, status.st_ino)
    }

    /// Whether clients that open the path reach this socket.
    var isInPlace: Bool {
        guard let status = Self.status(of: self.path) else { return false }
        return status.st_dev == self.device && status.st_ino == self.inode
    }

    /// Removes the file, so that no more clients can connect.
    ///
    /// No other server replaces it at the same time, because this process still listens on it.
    func remove() {
        if self.isInPlace { unsafe unlink(self.path) }
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }
}
