internal import Glibc

/// Why a file was not read or written.
///
/// Holds the path and never the contents.
package enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing is there: make it, or tell the person which file to name.
    case notFound(String)
    /// The permissions forbid it: tell the person.
    case notAllowed(String)
    /// Nothing was changed; the same again once there is room.
    case diskFull(String)
    /// The file is longer than what may be read of it: it is not what it is taken for.
    case tooLarge(String, limit: Int)
    /// Something is there already and is not replaced.
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
