internal import Glibc

/// The address of a Unix socket: a path, or an abstract name that begins with a zero byte (unix(7)).
struct UnixSocketAddress {
    /// The length of the longest path in bytes, without its zero byte.
    static let longestPathByteCount = 107

    private let bytes: [UInt8]

    /// - Precondition: At most ``longestPathByteCount`` bytes.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count <= Self.longestPathByteCount, "the caller has checked the length")
        self.bytes = bytes
    }

    /// Sends one datagram to this address from a new socket; returns false if it was not sent in full.
    func sendDatagram(_ datagram: [UInt8]) -> Bool {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            unsafe target.copyBytes(from: self.bytes)
        }
        // The length of an abstract name is explicit; a path ends at its zero byte.
        let isAbstract = self.bytes.first == 0
        let length = MemoryLayout<sa_family_t>.size + self.bytes.count + (isAbstract ? 0 : 1)
        let count = unsafe withUnsafeBytes(of: &address) { target in
            // sendto(2) takes a sockaddr_un as a sockaddr of family AF_UNIX.
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
