import Foundation
import Glibc
import PostgreSQLClient
import TestSupport

/// A relay before a database that states another process than the one that answers, as a pooler does.
final class Pooler: Sendable {
    private let folder = TemporaryFolder()

    var target: PostgreSQLTarget { PostgreSQLTarget(address: "host=\(self.folder.path) user=test dbname=postgres") }

    init(before cluster: PostgreSQLCluster) throws {
        let listener = Self.socket()
        let bound = unsafe Self.onAddress(self.folder.path) { unsafe bind(listener, $0, $1) }
        guard bound == 0, listen(listener, 1) == 0 else { throw PostgreSQLPlace.NoServer() }
        let (database, folder) = (Self.socket(), cluster.folder)
        Thread.detachNewThread {
            let client = accept(listener, nil, nil)
            _ = unsafe Self.onAddress(folder) { unsafe connect(database, $0, $1) }
            Thread.detachNewThread { Self.relay(from: client, to: database) { $0 } }
            Self.relay(from: database, to: client) { bytes in
                // BackendKeyData: its type, its length of 12, and the process (PostgreSQL, "Message Formats").
                guard let at = bytes.firstRange(of: [0x4B, 0, 0, 0, 12])?.upperBound else { return bytes }
                var changed = bytes
                changed[at + 3] ^= 1
                return changed
            }
            for socket in [listener, client, database] { close(socket) }
        }
    }

    /// Copies bytes until one side closes its connection.
    private static func relay(from source: Int32, to target: Int32, _ change: ([UInt8]) -> [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            let bytes = change(Array(buffer[..<count]))
            guard unsafe send(target, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }

    private static func socket() -> Int32 {
        Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    /// The socket's file has the name that libpq expects in a folder.
    private static func onAddress(_ folder: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { path in
            unsafe path.copyBytes(from: Array("\(folder)/.s.PGSQL.5432".utf8))
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
