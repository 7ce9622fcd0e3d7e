internal import Glibc

/// A Unix socket that is bound to a path and that only its owner, or a group too, can open; closed unless it is released.
struct UnixSocket: ~Copyable {
    private let descriptor: CInt

    /// Bytes of the longest path, without its zero byte (unix(7)).
    static let longestPathByteCount = 107

    /// Makes the file anew; its mode is set before anybody can connect, since nobody listens yet.
    init(boundTo path: String, group: UInt32? = nil) throws(ListenError) {
        guard path.utf8.count <= Self.longestPathByteCount else { throw .pathTooLong(path) }
        try Self.removeSocket(path)
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .other("socket: errno \(errno)") }
        guard Self.bind(descriptor, to: path) == 0, unsafe chmod(path, 0o600) == 0,
            Self.give(path, to: group)
        else {
            let code = errno
            close(descriptor)
            switch code {
            case EADDRINUSE: throw .addressInUse(path)
            case EACCES, EPERM, EROFS: throw .notAllowed(path)
            default: throw .other("\(path): errno \(code)")
            }
        }
        self.descriptor = descriptor
    }

    /// The mode comes last: until the file is the group's, another one's members could open it.
    private static func give(_ path: String, to group: UInt32?) -> Bool {
        guard let group else { return true }
        return unsafe chown(path, uid_t.max, group) == 0 && chmod(path, 0o660) == 0
    }

    private static func bind(_ descriptor: CInt, to path: String) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            unsafe target.copyBytes(from: path.utf8)
        }
        return unsafe withUnsafeBytes(of: &address) { bytes in
            // A sockaddr_un is what bind(2) takes as a sockaddr of family AF_UNIX.
            guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            return unsafe Glibc.bind(descriptor, start, socklen_t(bytes.count))
        }
    }

    /// Removes what an earlier process left, if it is a socket; any other file is somebody's.
    private static func removeSocket(_ path: String) throws(ListenError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .addressInUse(path) }
        Self.remove(path)
    }

    /// Removes the file, so that nobody finds the socket any more.
    static func remove(_ path: String) {
        unsafe unlink(path)
    }

    deinit {
        close(self.descriptor)
    }

    /// Gives the socket to a new owner, who closes it.
    consuming func release() -> CInt {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }
}
