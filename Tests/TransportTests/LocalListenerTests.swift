import Foundation
import TestSupport
import Testing
import Transport

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
        await #expect(throws: ListenError.addressInUse(file)) { try await self.listener(file) }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious")
        let long = "\(self.folder.path)/\(String(repeating: "x", count: 107))"
        await #expect(throws: ListenError.pathTooLong(long)) { try await self.listener(long) }
        let missing = "\(self.folder.path)/none/socket"
        await #expect(throws: ListenError.other("\(missing): errno 2")) { try await self.listener(missing) }
    }
}
