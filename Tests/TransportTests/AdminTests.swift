import Foundation
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("An operator's commands")
struct AdminTests {
    private let folder: TemporaryFolder
    private var path: String { "\(self.folder.path)/admin" }

    init() throws {
        self.folder = TemporaryFolder()
    }

    @Sendable private static func carryOut(_ command: AdminCommand, for peer: AdminPeer) async -> AdminResult {
        switch command {
        case .reload: .reloaded([ReloadedPart("uid \(peer.userID)"), ReloadedPart("pid \(peer.processID)")])
        case .advanceClock(let by): .clockAdvanced(now: Timestamp(milliseconds: by.milliseconds))
        default: .failed(AdminFailure(.unsupported, "unknown"))
        }
    }

    @Test("they are carried out over a socket that only its owner can open, twice over at the same path")
    func commands() async throws {
        for _ in 0..<2 {
            let listener = try await AdminListener.bind(path: self.path)
            let mode = try FileManager.default.attributesOfItem(atPath: self.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await listener.serve(Self.carryOut) }
                defer { listener.stop() }
                let connection = try await AdminConnection.connect(path: self.path, timeout: .seconds(20))
                let result = try await connection.call(.advanceClock(by: .seconds(61)), timeout: .seconds(20))
                #expect(result == .clockAdvanced(now: Timestamp(milliseconds: 61_000)))
                let unknown = try await connection.call(.unknown, timeout: .seconds(20))
                #expect(unknown == .failed(AdminFailure(.unsupported, "unknown")))
                let peer = [ReloadedPart("uid \(geteuid())"), ReloadedPart("pid \(getpid())")]
                #expect(try await connection.call(.reload, timeout: .seconds(20)) == .reloaded(peer))
                connection.close()
                #expect(await happens { await connection.closed() })
            }
        }
        await #expect(throws: ConnectError.refused) {
            try await AdminConnection.connect(path: self.path, timeout: .seconds(20))
        }
    }

    @Test("an answer that is longer than a frame is told of and ends neither server nor connection")
    func longAnswer() async throws {
        let listener = try await AdminListener.bind(path: self.path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await listener.serve { command, peer in
                    guard command == .reload else { return await Self.carryOut(command, for: peer) }
                    return .reloaded(Array(repeating: ReloadedPart("part", problem: "unreadable"), count: 5_000))
                }
            }
            defer { listener.stop() }
            let connection = try await AdminConnection.connect(path: self.path, timeout: .seconds(20))
            guard case .failed(let failure) = try await connection.call(.reload, timeout: .seconds(20)) else {
                Issue.record("an answer of 70,000 bytes")
                return
            }
            #expect(failure.kind == .internal && failure.sentence.contains("too long"))
            let unknown = try await connection.call(.unknown, timeout: .seconds(20))
            #expect(unknown == .failed(AdminFailure(.unsupported, "unknown")))
            connection.close()
        }
    }

    @Test("with a group its members can open the socket as well, and nobody else")
    func group() async throws {
        let listener = try await AdminListener.bind(path: self.path, group: getegid())
        let attributes = try FileManager.default.attributesOfItem(atPath: self.path)
        #expect(attributes[.posixPermissions] as? Int == 0o660)
        #expect(attributes[.groupOwnerAccountID] as? UInt32 == getegid())
        listener.stop()
        await listener.serve(Self.carryOut)
    }

    @Test("a stopped listener's socket is gone, and stopping it again leaves its successor's")
    func successor() async throws {
        let first = try await AdminListener.bind(path: self.path)
        first.stop()
        #expect(!FileManager.default.fileExists(atPath: self.path))
        let second = try await AdminListener.bind(path: self.path)
        first.stop()
        #expect(FileManager.default.fileExists(atPath: self.path))
        second.stop()
        await first.serve(Self.carryOut)
        await second.serve(Self.carryOut)
    }

    @Test("a file that is no socket is left alone, and a long path is refused")
    func paths() async throws {
        let file = try self.folder.write("precious", to: "file")
        await #expect(throws: ListenError.addressInUse(file)) { try await AdminListener.bind(path: file) }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious")
        let long = "\(self.folder.path)/\(String(repeating: "x", count: 107))"
        await #expect(throws: ListenError.pathTooLong(long)) { try await AdminListener.bind(path: long) }
        let missing = "\(self.folder.path)/none/admin"
        await #expect(throws: ListenError.other("\(missing): errno 2")) { try await AdminListener.bind(path: missing) }
    }
}
