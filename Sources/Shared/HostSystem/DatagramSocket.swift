internal import Glibc

/// A Unix socket of another program that receives datagrams, such as that of a log service.
package struct DatagramSocket: Sendable {
    private let path: String
    private let address: UnixSocketAddress

    /// Returns nil if the path is longer than the address of a socket may be.
    package init?(path: String) {
        guard path.utf8.count <= UnixSocketAddress.longestPathByteCount else { return nil }
        self.path = path
        self.address = UnixSocketAddress(Array(path.utf8))
    }

    /// Sends a datagram without waiting; throws if no program listens, its queue is full, or the datagram is too long.
    package func send(_ datagram: [UInt8]) throws(FileError) {
        if let code = self.address.sendDatagram(datagram, flags: CInt(MSG_DONTWAIT)) {
            throw SystemCall.error(code, self.path)
        }
    }
}
