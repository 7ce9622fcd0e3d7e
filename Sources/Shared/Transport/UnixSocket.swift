internal import Glibc
internal import HostSystem
internal import NIOCore
internal import NIOPosix
internal import Wire

/// Sockets at a path, accessible to their owner and optionally a group.
enum UnixSocket {
    /// The maximum length of the path in bytes, not counting the terminating zero (unix(7)).
    static let longestPathByteCount = 107

    /// Creates a socket and its file, replacing a socket left behind by an earlier process, and listens on it.
    ///
    /// The caller must close the descriptor.
    ///
    /// The folder is locked until the socket listens. Otherwise, each of two servers that start together could take the
    /// other's new socket, which is not listening yet, for an abandoned one.
    ///
    /// - Parameter backlog: The number of clients that may wait to be accepted.
    static func listen(
        at path: String,
        group: UInt32?,
        backlog: CInt
    ) throws(ListenError) -> (descriptor: CInt, file: SocketFile) {
        guard path.utf8.count <= Self.longestPathByteCount else { throw .pathTooLong(path) }
        let lock = try Self.lock(folderOf: path)
        defer { withExtendedLifetime(lock) {} }
        try Self.removeAbandoned(path)
        let descriptor = try Self.make(path)
        guard unsafe Self.withAddress(path, { unsafe Glibc.bind(descriptor, $0, $1) }) == 0,
            let file = SocketFile(path)
        else { throw Self.failure(closing: descriptor, path) }
        guard unsafe chmod(path, 0o600) == 0, Self.give(path, to: group), Glibc.listen(descriptor, backlog) == 0 else {
            let failure = Self.failure(closing: descriptor, path)
            file.remove()
            throw failure
        }
        return (descriptor, file)
    }

    private static func lock(folderOf path: String) throws(ListenError) -> FileLock {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        do throws(LockError) {
            return try FileLock(folder: folder)
        } catch {
            switch error {
            case .heldBy: throw .other("another process locks \(folder) (flock); lslocks names it")
            case .file(let error): throw .other("\(error)")
            }
        }
    }

    /// Removes a socket left behind by an earlier process.
    ///
    /// Threat: a server started with the path of another one would take over the commands of its operators, and the
    /// codes that its portal receives. Throws if a process listens at the path, even one that is stopped or accepts no
    /// connections, if it cannot be known because another user made the socket, or if the file is not a socket.
    private static func removeAbandoned(_ path: String) throws(ListenError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            let code = errno
            if code == ENOENT { return }
            throw ListenError(errno: code, address: path)
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path) }
        let client = try Self.make(path)
        defer { close(client) }
        guard unsafe Self.withAddress(path, { unsafe connect(client, $0, $1) }) != 0 else {
            throw .served(path, by: LocalPeer.process(listeningFor: client))
        }
        let code = errno
        switch code {
        case ECONNREFUSED:
            guard unsafe unlink(path) == 0 else { throw ListenError(errno: errno, address: path) }
        // The backlog is full, or the socket is one for datagrams.
        case EAGAIN, EPROTOTYPE: throw .served(path, by: nil)
        case EACCES where status.st_uid != geteuid(): throw .foreignSocket(path, owner: status.st_uid)
        default: throw ListenError(errno: code, address: path)
        }
    }

    private static func make(_ path: String) throws(ListenError) -> CInt {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw ListenError(errno: errno, address: path) }
        return descriptor
    }

    /// Returns the error of the last system call.
    private static func failure(closing descriptor: CInt, _ path: String) -> ListenError {
        let code = errno
        close(descriptor)
        return ListenError(errno: code, address: path)
    }

    /// Gives the group access.
    ///
    /// The mode is set last, because the file still belongs to a different group before that.
    private static func give(_ path: String, to group: UInt32?) -> Bool {
        guard let group else { return true }
        return unsafe chown(path, uid_t.max, group) == 0 && chmod(path, 0o660) == 0
    }

    private static func withAddress(_ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            unsafe target.copyBytes(from: path.utf8)
        }
        return unsafe withUnsafeBytes(of: &address) { bytes in
            // bind(2) takes a pointer to a sockaddr, even though this is a sockaddr_un.
            guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            return unsafe call(start, socklen_t(bytes.count))
        }
    }
}

// Both ends of a local Unix socket. TLS is not used, because access is restricted by the file's permissions.

extension ConnectionListener {
    /// Listens at `path`, replacing a socket left behind by an earlier process, or the one that this listener had.
    ///
    /// - Parameter group: A group whose members may connect, in addition to the owner.
    func bind(unixSocket path: String, group: UInt32?) async throws(ListenError) {
        let bootstrap = self.bootstrap(nil)
        // NIO calls listen(2) again with the same backlog, which changes nothing.
        let (descriptor, file) = try UnixSocket.listen(at: path, group: group, backlog: Self.backlog)
        do {
            self.listen(on: try await bootstrap.withBoundSocket(descriptor).get(), at: file)
        } catch {
            file.remove()
            throw ListenError(error, address: path)
        }
    }
}

extension PendingCalls {
    /// Connects to the socket at `path`; throws ``ConnectError/refused`` if no process is listening there.
    static func connect(
        unixSocket path: String,
        timeout: Duration,
        read: @escaping Reader
    ) async throws(ConnectError) -> PendingCalls {
        do {
            let calls = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(TimeAmount(timeout))
                .channelOption(.autoRead, value: false)
                .connect(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try PendingCalls(on: channel, isSecure: false, read: read)
                    }
                }
            _ = try await calls.open()
            return calls
        } catch {
            throw ConnectError(error)
        }
    }
}

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

    /// Creates an object for the socket that was just bound; returns nil and leaves `errno` if the file is gone.
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
