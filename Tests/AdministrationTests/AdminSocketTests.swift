import AdminProtocol
import AuditLog
import HostSystem
import ServerTestSupport
import TestSupport
import Testing
import Transport

@testable import Administration

@Suite("The operators' socket")
struct AdminSocketTests {
    private let folder = TemporaryFolder()
    private var path: String { self.folder.file("admin") }
    private static let patience: Duration = .seconds(20)

    @Test("commands are carried out over the socket, and the audit log names the user that the kernel reports")
    func commands() async throws {
        try await InProcessServer.run { server in
            let listener = try await LocalListener.bind(path: self.path, limits: .admin)
            async let serving: Void = server.commands.serve(listener)
            let connection = try await AdminConnection.connect(path: self.path, timeout: Self.patience)
            let revoked: SolutionReply = try await connection.call(
                "revoke solution",
                NoArguments(),
                timeout: Self.patience
            )
            #expect(revoked == SolutionReply(revoked: true, changed: true))
            let user = "uid \(Accounts.currentUser)"
            #expect(try await server.record().last?.actor.rawValue.hasPrefix(user) == true)

            let unknown = await #expect(throws: AdminCallError.self) {
                let _: NoArguments = try await connection.call("wallet destroy", NoArguments(), timeout: Self.patience)
            }
            guard case .refused(let failure)? = unknown else {
                Issue.record("\(unknown as Any)")
                return
            }
            #expect(failure.kind == .unsupported)
            await #expect(throws: AdminCallError.unexpectedReply) {
                let _: ShowWallet.Reply = try await connection.call("flags list", NoArguments(), timeout: Self.patience)
            }
            let _: FlagsReply = try await connection.call("flags list", NoArguments(), timeout: Self.patience)
            connection.close()
            listener.stop()
            await serving
        }
    }

    @Test("a connection beyond the limit receives the reason, and nothing is done")
    func busy() async throws {
        // The idle connections must outlast the making of all the others, also on a busy machine.
        var limits = TransportLimits.admin
        limits.idleWithoutSession = .seconds(600)
        try await InProcessServer.run { [limits] server in
            let listener = try await LocalListener.bind(
                path: self.path,
                limits: limits,
                busyAnswer: { AdminService.busyAnswer($0) }
            )
            async let serving: Void = server.commands.serve(listener)
            var others: [AdminConnection] = []
            for _ in 0..<TransportLimits.admin.connections {
                others.append(try await AdminConnection.connect(path: self.path, timeout: Self.patience))
            }
            // Each of them is open once it is answered; else the late one could be counted before the last of them.
            for connection in others {
                let _: FlagsReply = try await connection.call("flags list", NoArguments(), timeout: Self.patience)
            }
            let late = try await AdminConnection.connect(path: self.path, timeout: Self.patience)
            let error = await #expect(throws: AdminCallError.self) {
                let _: SolutionReply = try await late.call("revoke solution", NoArguments(), timeout: Self.patience)
            }
            guard case .refused(let failure)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(failure.kind == .unavailable && failure.message.contains("64 connections to the socket are open"))
            let _: FlagsReply = try await others[0].call("flags list", NoArguments(), timeout: Self.patience)
            for connection in others + [late] { connection.close() }
            listener.stop()
            await serving
        }
    }

    @Test("a frame that is too long ends the connection and not the server")
    func tooLong() async throws {
        try await InProcessServer.run { server in
            let listener = try await LocalListener.bind(path: self.path, limits: .admin)
            async let serving: Void = server.commands.serve(listener)
            let client = try await RawClient(unixSocket: self.path)
            await client.send([0x00, 0x01, 0x00, 0x01] + Array(repeating: 0x20, count: 100))
            #expect(await happens { await client.closed() })
            let connection = try await AdminConnection.connect(path: self.path, timeout: Self.patience)
            let _: FlagsReply = try await connection.call("flags list", NoArguments(), timeout: Self.patience)
            connection.close()
            listener.stop()
            await serving
        }
    }
}
