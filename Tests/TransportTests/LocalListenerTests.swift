import Foundation
import Glibc
import TestSupport
import Testing

@testable import Transport

/// Calls of one byte for the id and another one for the content.
extension LocalConnection {
    static func connect(path: String) async throws -> LocalConnection {
        try await Self.connect(path: path, timeout: .seconds(20)) { $0.first.map(UInt64.init) }
    }

    func call(_ byte: UInt8) async throws -> [UInt8] {
        Array(try await self.call(timeout: .seconds(20)) { [UInt8(truncatingIfNeeded: $0), byte] }.dropFirst())
    }
}

extension LocalListener {
    /// Answers each call with its content and the peer.
    func serveEchoes() async {
        await self.serve { call, peer in
            Answer(call + "uid \(peer.userID) pid \(peer.processID)".utf8, isUse: true)
        }
    }
}

@Suite("A Unix socket for calls of this machine")
struct LocalListenerTests {
    private let folder = TemporaryFolder()
    private var path: String { self.folder.file("socket") }

    private func listener(_ path: String? = nil, group: UInt32? = nil) async throws -> LocalListener {
        try await LocalListener.bind(path: path ?? self.path, group: group, limits: .admin)
    }

    @Test("only its owner can open it, calls are answered with the peer's user, and the path can be reused")
    func calls() async throws {
        for _ in 0..<2 {
            let listener = try await self.listener()
            let mode = try FileManager.default.attributesOfItem(atPath: self.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await listener.serveEchoes() }
                defer { listener.stop() }
                let connection = try await LocalConnection.connect(path: self.path)
                for byte in UInt8(0)..<3 {
                    let answer = try await connection.call(byte)
                    #expect(answer == [byte] + Array("uid \(geteuid()) pid \(getpid())".utf8))
                }
                connection.close()
                #expect(await happens { await connection.closed() })
            }
        }
        await #expect(throws: ConnectError.refused) { try await LocalConnection.connect(path: self.path) }
    }

    @Test("bytes that are not an answer close the client's connection")
    func malformedAnswer() async throws {
        let listener = try await self.listener()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.serve { _, _ in .init([7], isUse: true) } }
            defer { listener.stop() }
            let connection = try await LocalConnection.connect(path: self.path, timeout: .seconds(20)) { _ in nil }
            await #expect(throws: CallError.malformed) { try await connection.call(1) }
        }
    }

    @Test("with a group its members can open the socket, and no other user can")
    func group() async throws {
        let listener = try await self.listener(group: getegid())
        let attributes = try FileManager.default.attributesOfItem(atPath: self.path)
        #expect(attributes[.posixPermissions] as? Int == 0o660)
        #expect(attributes[.groupOwnerAccountID] as? UInt32 == getegid())
        listener.stop()
        await listener.serveEchoes()
    }

    @Test("stopping removes the socket, and stopping again leaves the socket of a later listener")
    func successor() async throws {
        let first = try await self.listener()
        first.stop()
        #expect(!FileManager.default.fileExists(atPath: self.path))
        let second = try await self.listener()
        first.stop()
        #expect(FileManager.default.fileExists(atPath: self.path))
        second.stop()
        await first.serveEchoes()
        await second.serveEchoes()
    }

    @Test("a file that is not a socket is left alone, and a long path is rejected")
    func paths() async throws {
        let file = try self.folder.write("precious", to: "file")
        await #expect(throws: ListenError.notASocket(file)) { try await self.listener(file) }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious")
        let long = "\(self.folder.path)/\(String(repeating: "x", count: 107))"
        await #expect(throws: ListenError.pathTooLong(long)) { try await self.listener(long) }
        let missing = "\(self.folder.path)/none/socket"
        await #expect(throws: ListenError.other("\(self.folder.path)/none: no such file or folder")) {
            try await self.listener(missing)
        }
        #expect(ListenError(errno: EROFS, address: "/x") == .other("/x: read-only file system (EROFS)"))
        #expect(ListenError(errno: EACCES, address: "/x") == .notAllowed("/x"))
    }

    @Test("a socket that a process listens on is refused with its id, and goes on answering")
    func served() async throws {
        let first = try await self.listener()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await first.serveEchoes() }
            defer { first.stop() }
            await #expect(throws: ListenError.served(self.path, by: getpid())) { try await self.listener() }
            _ = try await LocalConnection.connect(path: self.path).call(1)
        }
    }

    @Test("of listeners that start together with one path, only one gets it")
    func together() async throws {
        let path = self.path
        for _ in 0..<20 {
            let listeners = await withTaskGroup(of: LocalListener?.self) { group in
                for _ in 0..<8 { group.addTask { try? await LocalListener.bind(path: path, limits: .admin) } }
                return await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
            }
            #expect(listeners.count == 1)
            for listener in listeners {
                #expect(listener.isInPlace)
                listener.stop()
                await listener.serveEchoes()
            }
        }
    }

    /// A bound socket of another program, which accepts no connection.
    private func foreignSocket(_ type: __socket_type, backlog: CInt?) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(type.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: self.path.utf8) }
        let bound = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { unsafe bind(descriptor, $0.baseAddress, 110) }
        }
        try #require(bound == 0)
        if let backlog { try #require(listen(descriptor, backlog) == 0) }
        return descriptor
    }

    @Test("a process that is stopped, has a full backlog or takes datagrams keeps its socket; one that ended does not")
    func frozen() async throws {
        let listening = try self.foreignSocket(SOCK_STREAM, backlog: 0)
        // The first attempt takes the only place in the backlog.
        for process in [getpid(), nil] {
            await #expect(throws: ListenError.served(self.path, by: process)) { try await self.listener() }
        }
        close(listening)
        let abandoned = try await self.listener()
        abandoned.stop()
        await abandoned.serveEchoes()
        let datagrams = try self.foreignSocket(SOCK_DGRAM, backlog: nil)
        await #expect(throws: ListenError.served(self.path, by: nil)) { try await self.listener() }
        close(datagrams)
    }

    @Test("a listener leaves no file beside its socket, neither while it listens nor after its stop")
    func files() async throws {
        let listener = try await self.listener()
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["socket"])
        listener.stop()
        await listener.serveEchoes()
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).isEmpty)
    }

    @Test("a folder that another process locks is not waited for without end")
    func lockedFolder() async throws {
        let folder = unsafe open(self.folder.path, O_RDONLY | O_CLOEXEC)
        try #require(flock(folder, LOCK_EX) == 0)
        await #expect { try await self.listener() } throws: { "\($0)".contains("lslocks") }
        close(folder)
        let listener = try await self.listener()
        listener.stop()
        await listener.serveEchoes()
    }

    @Test(
        "a socket that another user left behind is named with its owner, and stays",
        .enabled(if: geteuid() == 0, "only root can act as another user")
    )
    func foreignOwner() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let path = folder.file("socket")
            let first = try await LocalListener.bind(path: path, limits: .admin)
            // Without the stop, the file stays, as after a kill.
            try #require(unsafe link(path, path + ".kept") == 0)
            first.stop()
            await first.serveEchoes()
            try #require(unsafe rename(path + ".kept", path) == 0)
            try #require(unsafe chmod(folder.path, 0o777) == 0 && setuid(4242) == 0)
            await #expect(throws: ListenError.foreignSocket(path, owner: 0)) {
                try await LocalListener.bind(path: path, limits: .admin)
            }
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("a stop leaves a file that another process put in the place of the socket")
    func foreignFile() async throws {
        let listener = try await self.listener()
        try FileManager.default.removeItem(atPath: self.path)
        _ = try self.folder.write("precious", to: "socket")
        #expect(!listener.isInPlace)
        await #expect(throws: ListenError.notASocket(self.path)) { try await listener.renew() }
        listener.stop()
        await listener.serveEchoes()
        #expect(try String(contentsOfFile: self.path, encoding: .utf8) == "precious")
    }

    @Test("a removed socket is made again, open connections continue, and the stop removes it")
    func renewed() async throws {
        let listener = try await self.listener()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.serveEchoes() }
            let connection = try await LocalConnection.connect(path: self.path)
            _ = try await connection.call(1)
            #expect(listener.isInPlace)
            try FileManager.default.removeItem(atPath: self.path)
            #expect(!listener.isInPlace)
            await #expect(throws: (any Error).self) { try await LocalConnection.connect(path: self.path) }
            for _ in 0..<2 {
                try await listener.renew()
                #expect(listener.isInPlace)
            }
            _ = try await LocalConnection.connect(path: self.path).call(2)
            _ = try await connection.call(3)
            await #expect(throws: ListenError.served(self.path, by: getpid())) { try await self.listener() }
            listener.stop()
        }
        #expect(!FileManager.default.fileExists(atPath: self.path))
    }
}
