internal import Glibc

/// The address of a Unix socket: a path, or an abstract name that begins with a zero byte (unix(7)).
struct UnixSocketAddress {
    /// Bytes of the longest path, without its zero byte.
    static let longestPathByteCount = 107

    private let bytes: [UInt8]

    /// - Precondition: at most ``longestPathByteCount`` bytes.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count <= Self.longestPathByteCount, "callers have looked at its length")
        self.bytes = bytes
    }

    /// Sends one datagram there from a socket of its own; false where it was not taken whole.
    func sendDatagram(_ datagram: [UInt8]) -> Bool {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            unsafe target.copyBytes(from: self.bytes)
        }
        // An abstract name is as long as it says it is, a path ends at its zero byte.
        let isAbstract = self.bytes.first == 0
        let length = MemoryLayout<sa_family_t>.size + self.bytes.count + (isAbstract ? 0 : 1)
        let count = unsafe withUnsafeBytes(of: &address) { target in
            // A sockaddr_un is what sendto(2) takes as a sockaddr of family AF_UNIX.
            let start = unsafe target.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return unsafe datagram.withUnsafeBytes { bytes in
                unsafe sendto(
                    descriptor,
                    bytes.baseAddress,
                    bytes.count,
                    CInt(MSG_NOSIGNAL),
                    start,
                    socklen_t(length)
                )
            }
        }
        return count == datagram.count
    }
}
