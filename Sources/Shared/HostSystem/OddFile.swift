internal import Glibc

/// A kind of directory entry that must not stand for a file with content to rely on.
package enum OddFile: Hashable, Sendable, CustomStringConvertible {
    /// Files that belong together are looked for beside the link by one program, and beside its target by another.
    case symbolicLink
    /// A file with this many names, for the same reason: each name may have another log beside it.
    case names(Int)
    case folder
    /// Opening or reading it may never return.
    case pipe
    case socket
    case device

    /// Classifies an entry, or returns nil for a regular file.
    ///
    /// - Parameter hasOneName: Whether a regular file may have only one name.
    init?(_ status: stat, hasOneName: Bool) {
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            guard hasOneName, status.st_nlink > 1 else { return nil }
            self = .names(Int(clamping: status.st_nlink))
        case S_IFLNK: self = .symbolicLink
        case S_IFDIR: self = .folder
        case S_IFIFO: self = .pipe
        case S_IFSOCK: self = .socket
        default: self = .device
        }
    }

    package var description: String {
        switch self {
        case .symbolicLink:
            "a symbolic link, which is not followed here; name the file that it leads to, or move it here"
        case .names(let count):
            "a file with \(count) names (hard links, as `cp -al` makes them), which is not used here; the other names "
                + "are no copies, since they lead to the same data"
        case .folder: "a folder; a regular file is expected"
        case .pipe: "a named pipe; a regular file is expected"
        case .socket: "a socket; a regular file is expected"
        case .device: "a device; a regular file is expected"
        }
    }
}
