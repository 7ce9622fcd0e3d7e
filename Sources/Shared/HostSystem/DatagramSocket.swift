internal import Glibc

/// Another program's Unix datagram socket, such as that of a log service.
package struct DatagramSocket: Sendable {
    private let path: String
    private let address: UnixSocketAddress

    /// Returns nil if the path is too long for a socket address.
    package init?(path: String) {
        guard path.utf8.count <= UnixSocketAddress.longestPathByteCount else { return nil }
        self.path = path
        self.address = UnixSocketAddress(Array(path.utf8))
    }

    /// Sends a datagram without waiting.
    ///
    /// Throws if no program is listening, its queue is full, or the datagram is too long.
    package func send(_ datagram: [UInt8]) throws(FileError) {
        if let code = self.address.sendDatagram(datagram, flags: CInt(MSG_DONTWAIT)) {
            throw SystemCall.error(code, self.path)
        }
    }
}

/// The address of a Unix socket: a path, or an abstract name that begins with a zero byte (unix(7)).
struct UnixSocketAddress: Sendable {
    /// The maximum length of a path in bytes, not counting the terminating zero byte.
    static let longestPathByteCount = 107

    private let bytes: [UInt8]

    /// - Precondition: The path has at most ``longestPathByteCount`` bytes.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count <= Self.longestPathByteCount, "the caller has checked the length")
        self.bytes = bytes
    }

    /// Sends a datagram to this address from a new socket; returns the error number if it was not sent.
    ///
    /// - Parameter flags: Flags for sendto(2), in addition to `MSG_NOSIGNAL`.
    func sendDatagram(_ datagram: [UInt8], flags: CInt = 0) -> CInt? {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            unsafe target.copyBytes(from: self.bytes)
        }
        // An abstract name has an explicit length, whereas a path ends with a zero byte.
        let isAbstract = self.bytes.first == 0
        let length = MemoryLayout<sa_family_t>.size + self.bytes.count + (isAbstract ? 0 : 1)
        let count = unsafe withUnsafeBytes(of: &address) { target in
            // sendto(2) takes a pointer to a sockaddr, even though this is a sockaddr_un.
            let start = unsafe target.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return unsafe datagram.withUnsafeBytes { bytes in
                unsafe sendto(
                    descriptor,
                    bytes.baseAddress,
                    bytes.count,
                    CInt(MSG_NOSIGNAL) | flags,
                    start,
                    socklen_t(length)
                )
            }
        }
        // A datagram is sent as a whole or not at all.
        return count < 0 ? errno : nil
    }
}
