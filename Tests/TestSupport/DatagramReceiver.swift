internal import Dispatch
internal import Glibc
internal import HostSystem

/// A Unix datagram socket that receives a process's messages to its service manager or to a log service.
package final class DatagramReceiver: Sendable {
    private let descriptor: Int32

    /// - Parameter name: A path, or an abstract name that begins with `@`.
    package init(_ name: String) throws {
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var bytes = Array(name.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
        let bound = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe bind(self.descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(length))
        }
        // A test that waits in vain fails instead of hanging.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        unsafe setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard self.descriptor >= 0, bound == 0 else { throw FileError.other(name, errno: errno) }
    }

    deinit { close(self.descriptor) }

    /// The next datagram, awaited on a thread that may block; empty after a timeout.
    package func next() async -> String { String(decoding: await self.nextBytes(), as: UTF8.self) }

    /// The bytes of the next datagram, awaited on a thread that may block; empty after a timeout.
    package func nextBytes() async -> [UInt8] {
        await withCheckedContinuation { received in
            DispatchQueue.global().async { received.resume(returning: self.receive()) }
        }
    }

    private func receive() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        let count = unsafe recv(self.descriptor, &buffer, buffer.count, 0)
        return Array(buffer.prefix(max(0, count)))
    }
}
