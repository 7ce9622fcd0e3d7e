internal import Glibc

/// An error from reading or writing a file.
///
/// The error contains the path, but never the contents.
package enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file or folder does not exist.
    ///
    /// Create it, or ask the user for the right path.
    case notFound(String)
    /// Access is not permitted (EACCES), or the operation is not (EPERM).
    ///
    /// Tell the user.
    case notAllowed(String, errno: Int32)
    /// The file system is read-only, so permissions are not the cause.
    ///
    /// Tell the user to look for errors of the disk and to remount it.
    case readOnly(String)
    /// The disk (ENOSPC), the user's quota (EDQUOT) or the limit on file sizes (EFBIG) leaves no room, and nothing was
    /// changed.
    ///
    /// Retry once space is available.
    case diskFull(String, errno: Int32)
    /// The name does not lead to a regular file of its own.
    ///
    /// Tell the user to put the file itself in its place.
    case odd(String, OddFile)
    /// The file is larger than this kind of file should be, so it is probably the wrong one.
    case tooLarge(String, limit: Int)
    /// The name is in use.
    ///
    /// The existing file is not replaced.
    case exists(String)
    /// Any other failure, with its errno.
    case other(String, errno: Int32)

    package var description: String { "\(self.path): \(self.reason)" }

    package var path: String {
        switch self {
        case .notFound(let path), .notAllowed(let path, errno: _), .readOnly(let path), .diskFull(let path, errno: _),
            .odd(let path, _), .tooLarge(let path, limit: _), .exists(let path), .other(let path, errno: _):
            path
        }
    }

    /// The reason without the path, for use in messages that already contain it.
    package var reason: String {
        switch self {
        case .notFound: "no such file or folder"
        case .readOnly: "\(SystemCall.text(of: EROFS)): look for errors of its disk with `dmesg`, and remount it"
        case .odd(let path, .names(let count)):
            "\(OddFile.names(count)): list them with `find / -samefile \(path)`, and remove the others"
        case .odd(_, let kind): kind.description
        case .tooLarge(_, let limit): "longer than \(limit) bytes"
        case .exists: "exists already"
        case .diskFull(_, let errno): SystemCall.lackOfRoom(errno)
        case .notAllowed(_, let errno), .other(_, let errno): SystemCall.text(of: errno)
        }
    }
}

/// A kind of directory entry that must not stand for a file with content to rely on.
package enum OddFile: Hashable, Sendable, CustomStringConvertible {
    /// Files that belong together are looked for beside the link by one program, and beside its target by another.
    case symbolicLink
    /// A file with this many names, for the same reason: each name may have another log beside it.
    case names(Int)
    case folder
    /// Opening or reading it may never return.
    case pipe
    case socket, device

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

/// Evaluates an operation and converts the error that it throws.
///
///     let text = try mapError(DurableFile.read(path, atMost: 65_536), to: LabError.file)
@discardableResult
package func mapError<Result: ~Copyable, Cause, Failure>(
    _ operation: @autoclosure () throws(Cause) -> Result,
    to convert: (Cause) -> Failure
) throws(Failure) -> Result {
    do throws(Cause) { return try operation() } catch { throw convert(error) }
}

/// Evaluates an asynchronous operation, on the caller's actor, and converts the error that it throws.
///
/// The label lets synchronous operations in asynchronous functions use the function above.
///
///     let versions = try await mapError(of: await store.vaultVersions(), to: VaultMismatch.init)
@discardableResult
package func mapError<Result: ~Copyable, Cause, Failure>(
    of operation: @autoclosure () async throws(Cause) -> Result,
    to convert: (Cause) -> Failure
) async throws(Failure) -> Result {
    do throws(Cause) { return try await operation() } catch { throw convert(error) }
}

/// Returns the result of an operation on a file, or nil if the file does not exist.
@discardableResult
package func ifPresent<Result>(
    _ operation: @autoclosure () throws(FileError) -> Result
) throws(FileError) -> Result? {
    do throws(FileError) { return try operation() } catch .notFound { return nil }
}
