import Foundation
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("The deletion portal's socket")
struct PortalSocketTests {
    private let folder = TemporaryFolder()
    private var path: String { self.folder.file("portal") }

    @Test("the socket is private to its owner, answers codes and rejects an operator's command")
    func answers() async throws {
        let listener = try await LocalListener.bind(path: self.path, limits: .portal)
        let mode = try FileManager.default.attributesOfItem(atPath: self.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await listener.servePortal { request in
                    request.source == "192.0.2.1" ? .revoked(at: Timestamp(milliseconds: 61)) : .notRecognised
                }
            }
            defer { listener.stop() }
            let patience: Duration = .seconds(20)
            let connection = try await PortalConnection.connect(path: self.path, timeout: patience)
            let known = try await connection.revoke(code: "A", source: "192.0.2.1", timeout: patience)
            #expect(known == .revoked(at: Timestamp(milliseconds: 61)))
            #expect(try await connection.revoke(code: "A", source: "192.0.2.2", timeout: patience) == .notRecognised)
            #expect(try await connection.revoke(code: "", source: "192.0.2.2", timeout: patience) == .malformed)
            connection.close()
            let command = Array(#"{"arguments":{},"command":"revoke solution","id":1,"version":1}"#.utf8)
            let other = try await LocalConnection.connect(path: self.path, timeout: patience) { _ in 1 }
            let answer = try await other.call(timeout: patience) { _ in command }
            #expect(try PortalResponse(decoding: answer).result == .malformed)
            other.close()
        }
        #expect(!FileManager.default.fileExists(atPath: self.path))
        await #expect(throws: ConnectError.refused) {
            try await PortalConnection.connect(path: self.path, timeout: .seconds(20))
        }
    }

    @Test(
        "a source converted to an address and back is the same source",
        arguments: ["192.0.2.1", "2001:db8:1:2:3:4:5:6", "::1", "::ffff:192.0.2.1", "::"]
    )
    func sources(address: String) throws {
        let source = try #require(PeerSource(address: address))
        #expect(PeerSource(address: try source.address.orThrow()) == source)
    }
}
