internal import Glibc

/// An error from reading or writing a file.
///
/// The error contains the path, but never the contents.
package enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file or folder does not exist.
    ///
    /// Create it, or ask the user for the right path.
    case notFound(String)
    /// Access is not permitted.
    ///
    /// Tell the user.
    case notAllowed(String)
    /// The disk is full and nothing was changed.
    ///
    /// Retry once space is available.
    case diskFull(String)
    /// The file is larger than this kind of file should be, so it is probably the wrong one.
    case tooLarge(String, limit: Int)
    /// The name is in use.
    ///
    /// The existing file is not replaced.
    case exists(String)
    /// Any other failure, with its errno.
    case other(String, errno: Int32)

    package var description: String { "\(self.path): \(self.reason)" }

    /// The file or folder.
    package var path: String {
        switch self {
        case .notFound(let path), .notAllowed(let path), .diskFull(let path), .tooLarge(let path, limit: _),
            .exists(let path), .other(let path, errno: _):
            path
        }
    }

    /// The reason without the path, for use in messages that already contain it.
    package var reason: String {
        switch self {
        case .notFound: "no such file or folder"
        case .notAllowed: "permission denied"
        case .diskFull: "no space left on the device"
        case .tooLarge(_, let limit): "longer than \(limit) bytes"
        case .exists: "exists already"
        case .other(_, ELOOP): "a symbolic link, which is not followed here; name the file that it leads to"
        case .other(_, let errno): SystemCall.text(of: errno)
        }
    }
}
