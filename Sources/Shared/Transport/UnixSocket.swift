internal import Glibc

/// A Unix socket bound to a path, accessible to its owner and optionally a group.
///
/// It is closed on deinit unless it has been released.
struct UnixSocket: ~Copyable {
    private let descriptor: CInt

    /// The maximum length of the path in bytes, not counting the terminating zero (unix(7)).
    static let longestPathByteCount = 107

    /// Creates the file and sets its mode.
    ///
    /// No client can connect before that, because the socket is not listening yet.
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

    /// Gives the group access.
    ///
    /// The mode is set last, because the file still belongs to a different group before that.
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
            // bind(2) takes a pointer to a sockaddr, even though this is a sockaddr_un.
            guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            return unsafe Glibc.bind(descriptor, start, socklen_t(bytes.count))
        }
    }

    /// Removes a socket left behind by an earlier process.
    ///
    /// Throws if the file is not a socket.
    private static func removeSocket(_ path: String) throws(ListenError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .addressInUse(path) }
        Self.remove(path)
    }

    /// Removes the file, so that no more clients can connect.
    static func remove(_ path: String) {
        unsafe unlink(path)
    }

    deinit {
        close(self.descriptor)
    }

    /// Transfers ownership of the descriptor to the caller, which must close it.
    consuming func release() -> CInt {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }
}
