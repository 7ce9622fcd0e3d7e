internal import Glibc

/// The reason why a file was not read or written.
///
/// The error contains the path and never the contents.
package enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file or folder does not exist: create it, or ask the user for the right path.
    case notFound(String)
    /// The permissions forbid the access: tell the user.
    case notAllowed(String)
    /// Nothing was changed; retry when the disk has free space.
    case diskFull(String)
    /// The file is longer than the limit for its kind, so it is probably the wrong file.
    case tooLarge(String, limit: Int)
    /// The name is in use, and the existing file is not replaced.
    case exists(String)
    /// Any other failure, by its errno.
    case other(String, errno: Int32)

    package var description: String {
        switch self {
        case .notFound(let path): "\(path): no such file or folder"
        case .notAllowed(let path): "\(path): permission denied"
        case .diskFull(let path): "\(path): no space left on the device"
        case .tooLarge(let path, let limit): "\(path): longer than \(limit) bytes"
        case .exists(let path): "\(path): exists already"
        case .other(let path, ELOOP):
            "\(path): a symbolic link, which is not followed here; name the file that it leads to"
        case .other(let path, let errno): "\(path): \(SystemCall.text(of: errno))"
        }
    }
}
