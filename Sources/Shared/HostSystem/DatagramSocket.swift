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
